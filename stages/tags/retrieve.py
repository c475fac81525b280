"""Stage `retrieve`: the canonical tags of each phrase, by name, by alias and by neighbours."""

from collections.abc import Iterable, Iterator, Sequence

from schemas.values.tags import (
    EmbeddedPhrases,
    FoundForPhrase,
    FoundTag,
    Lexicon,
    Neighbour,
    Phrase,
    RetrievedTags,
    SourceScores,
    Tag,
)
from stages.ports import Vectors
from stages.tags.ports import NeighbourSearch, TagLexicon, TokenQuery
from stages.tags.ranking import is_rare, named, permitted, project

EXACT = 1.0
"""The similarity of a tag that a phrase names exactly."""

HEAD_WEIGHT = 0.5
"""The similarity of a head's tags counts so much in a fusion: a head is only a part of a phrase."""


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
    permitted tags are required. Tags that are not permitted or too rare are never returned, but counted. Where sources
    are fused, tags of heads count less. Raises ValueError when `per_phrase_k` is below 1 or vectors and lookups differ
    in number, and the errors of the ports.
    """
    if per_phrase_k < 1:
        raise ValueError(f"per_phrase_k must be at least 1, not {per_phrase_k}")
    lookups = [phrase.lookup for phrase in embedded.phrases]
    known = await lexicon.look_up(vocabulary_id, lookups)
    exactly = {lookup: project(lookup, known, min_tag_count=min_tag_count) for lookup in lookups}
    queries = [query for query in _queries(embedded, vectors) if not (skip_exact and exactly[query.token])]
    nearest = await search.nearest(vocabulary_id, queries, limit=per_phrase_k)
    near = {query.token: neighbours for query, neighbours in zip(queries, nearest, strict=True)}
    tokens = {neighbour.token for neighbours in nearest for neighbour in neighbours}
    around = await lexicon.look_up(vocabulary_id, sorted(tokens))
    found = []
    for phrase in embedded.phrases:
        neighbours = near.get(phrase.lookup, ())
        exact = permitted(exactly[phrase.lookup], allow_nsfw_tags=allow_nsfw_tags)
        reached = _reached(neighbours, around, allow_nsfw_tags, min_tag_count)
        by_tag = {tag.tag: tag for tag in (*reached, *_exact(phrase.lookup, exact))}
        met = {tag.name: tag for tag in named(phrase.lookup, known)}
        met |= {tag.name: tag for neighbour in neighbours for tag in named(neighbour.token, around)}
        rare = [name for name, tag in met.items() if is_rare(tag, min_tag_count)]
        found.append(
            FoundForPhrase(
                phrase=phrase,
                required=tuple(sorted(tag.name for tag in exact)),
                asked_neighbours=phrase.lookup in near,
                found=tuple(_weighted(by_tag[name], phrase, embedded) for name in sorted(by_tag)),
                too_rare=len(rare),
                not_permitted=len(met.keys() - by_tag.keys() - set(rare)),
            )
        )
    return RetrievedTags(vocabulary_id=vocabulary_id, phrases=tuple(found))


def _queries(embedded: EmbeddedPhrases, vectors: Vectors) -> Iterator[TokenQuery]:
    for lookup, vector in zip(embedded.embedded, vectors, strict=True):
        if embedded.token_dimension is None:
            yield TokenQuery(lookup, vector)
        else:
            of_token, sentence = vector[: embedded.token_dimension], vector[embedded.token_dimension :]
            yield TokenQuery(lookup, of_token if of_token.any() else None, sentence)


def _reached(
    neighbours: Sequence[Neighbour], lexicon: Lexicon, allow_nsfw_tags: bool, min_tag_count: int
) -> Iterable[FoundTag]:
    """Each tag once, with the nearest of its tokens."""
    nearest: dict[str, FoundTag] = {}
    for neighbour in sorted(neighbours, key=lambda near: (-near.similarity, near.token)):
        scores = neighbour.sources or SourceScores(score_fasttext=neighbour.similarity)
        tags = project(neighbour.token, lexicon, min_tag_count=min_tag_count)
        for tag in permitted(tags, allow_nsfw_tags=allow_nsfw_tags):
            nearest.setdefault(tag.name, _found(tag, neighbour.token, scores))
    return nearest.values()


def _exact(lookup: str, tags: Iterable[Tag]) -> Iterable[FoundTag]:
    return (_found(tag, lookup, SourceScores(score_fasttext=EXACT)) for tag in tags)


def _found(tag: Tag, token: str, scores: SourceScores) -> FoundTag:
    return FoundTag(tag=tag.name, title=tag.title, alias_token=token, count=tag.count, **dict(scores))


def _weighted(found: FoundTag, phrase: Phrase, embedded: EmbeddedPhrases) -> FoundTag:
    """With the fused similarity, where sources are fused."""
    if embedded.token_dimension is None:
        return found
    weight = HEAD_WEIGHT if phrase.is_head else 1.0
    return found.model_copy(update={"score_similarity": weight * found.similarity})
