"""Stage `retrieve`: the canonical tags of each phrase, by name, by alias and by neighbours."""

from collections.abc import Iterable, Sequence

from schemas.values.tags import EmbeddedPhrases, FoundForPhrase, FoundTag, Lexicon, Neighbour, RetrievedTags, Tag
from stages.ports import Vectors
from stages.tags.policy import permitted
from stages.tags.ports import NeighbourSearch, TagLexicon
from stages.tags.projection import project

EXACT = 1.0
"""The similarity of a tag that a phrase names exactly."""


async def retrieve_tags(
    embedded: EmbeddedPhrases,
    vectors: Vectors,
    *,
    lexicon: TagLexicon,
    search: NeighbourSearch,
    vocabulary_id: int,
    allow_nsfw_tags: bool,
    per_phrase_k: int,
    min_tag_count: int,
    skip_exact: bool,
) -> RetrievedTags:
    """For each phrase, the tags that it names and those of its `per_phrase_k` nearest tokens.

    With `skip_exact`, neighbours of a phrase that names a tag exactly, permitted or not, are not searched; its
    permitted tags are required. Tags that are not permitted are never returned. One round trip finds the neighbours of
    all phrases. Raises ValueError when `per_phrase_k` is below 1 or vectors and lookups differ in number, and the
    errors of the ports.
    """
    if per_phrase_k < 1:
        raise ValueError(f"per_phrase_k must be at least 1, not {per_phrase_k}")
    lookups = [phrase.lookup for phrase in embedded.phrases]
    known = await lexicon.look_up(vocabulary_id, lookups)
    named = {lookup: project(lookup, known, min_tag_count=min_tag_count) for lookup in lookups}
    placed = zip(embedded.embedded, vectors, strict=True)
    queries = [(lookup, vector) for lookup, vector in placed if not (skip_exact and named[lookup])]
    nearest = await search.nearest(vocabulary_id, queries, limit=per_phrase_k)
    near = {lookup: neighbours for (lookup, _), neighbours in zip(queries, nearest, strict=True)}
    tokens = {neighbour.token for neighbours in nearest for neighbour in neighbours}
    around = await lexicon.look_up(vocabulary_id, sorted(tokens))
    found = []
    for phrase in embedded.phrases:
        exact = permitted(named[phrase.lookup], allow_nsfw_tags=allow_nsfw_tags)
        reached = _reached(near.get(phrase.lookup, ()), around, allow_nsfw_tags, min_tag_count)
        by_tag = {tag.tag: tag for tag in (*reached, *_exact(phrase.lookup, exact))}
        found.append(
            FoundForPhrase(
                phrase=phrase,
                required=tuple(sorted(tag.name for tag in exact)),
                asked_neighbours=phrase.lookup in near,
                found=tuple(by_tag[name] for name in sorted(by_tag)),
            )
        )
    return RetrievedTags(vocabulary_id=vocabulary_id, phrases=tuple(found))


def _reached(
    neighbours: Sequence[Neighbour], lexicon: Lexicon, allow_nsfw_tags: bool, min_tag_count: int
) -> Iterable[FoundTag]:
    """Each tag once, with the nearest of its tokens."""
    nearest: dict[str, FoundTag] = {}
    for neighbour in sorted(neighbours, key=lambda near: (-near.similarity, near.token)):
        tags = project(neighbour.token, lexicon, min_tag_count=min_tag_count)
        for tag in permitted(tags, allow_nsfw_tags=allow_nsfw_tags):
            nearest.setdefault(tag.name, _found(tag, neighbour.token, neighbour.similarity))
    return nearest.values()


def _exact(lookup: str, tags: Iterable[Tag]) -> Iterable[FoundTag]:
    return (_found(tag, lookup, EXACT) for tag in tags)


def _found(tag: Tag, token: str, similarity: float) -> FoundTag:
    return FoundTag(tag=tag.name, alias_token=token, score_fasttext=similarity, count=tag.count)
