"""Small vocabularies whose similarities are cosines of whole degrees."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from schemas.values import tags
from stages.ports import LookUp, NeighbourSearch, Vector
from stages.tags.phrases import lookup_of, normalise
from stages.tags.rerank import rank_tags
from stages.tags.retrieve import embed_phrases, retrieve_tags
from stages.tags.similarity import ContextModel, TokenModel
from stages.tags.validate import validate_tags
from tests.fakes.tags import InMemoryVocabulary, NotedSearch, token_model, unit

EmbedSentences: TypeAlias = Callable[[Sequence[str]], Awaitable[dict[str, Vector]]]
"""Embeds the phrases of a request by the sentence embedder of a vocabulary."""


class SearchedVocabulary(NamedTuple):
    """A vocabulary with everything that a request needs."""

    look_up: LookUp
    search: NeighbourSearch
    tokens: TokenModel
    context_model: ContextModel
    rows: Mapping[str, Vector]
    """The context rows of tags."""
    sentences: EmbedSentences | None = None
    """With it all sources are fused, without it FastText alone counts."""


async def candidates_from_phrases(
    vocabulary: SearchedVocabulary,
    rewrite_phrases: Sequence[str],
    *,
    allow_nsfw_tags: bool,
    context_tags: Sequence[str] = (),
    context_tag_weight: float = 1.0,
    context_weight: float = 0.5,
    per_phrase_k: int = 50,
    per_phrase_final_k: int = 1,
    global_k: int = 300,
    min_tag_count: int = 0,
    skip_exact: bool = True,
) -> tags.RankedTags:
    """The candidates for some phrases, best first: embed, retrieve, rerank and validate in sequence.

    The defaults are those of the original library; a run uses PSQ_* instead. Raises as the stages do.
    """
    policy: dict[str, Any] = {"allow_nsfw_tags": allow_nsfw_tags, "min_tag_count": min_tag_count}
    embedded, vectors = embed_phrases(
        rewrite_phrases,
        tokens=vocabulary.tokens,
        context_model=vocabulary.context_model,
        context_tags=context_tags,
        context_tag_weight=context_tag_weight,
        sentences=None if vocabulary.sentences is None else await vocabulary.sentences(rewrite_phrases),
    )
    retrieved = await retrieve_tags(
        embedded,
        vectors,
        look_up=vocabulary.look_up,
        search=vocabulary.search,
        per_phrase_k=per_phrase_k,
        skip_exact=skip_exact,
        **policy,
    )
    ranked = rank_tags(
        retrieved,
        context=embedded.context,
        rows=vocabulary.rows,
        context_weight=context_weight,
        per_phrase_final_k=per_phrase_final_k,
        global_k=global_k,
    )
    known = await vocabulary.look_up([candidate.tag for candidate in ranked.candidates])
    validate_tags(ranked, retrieved=retrieved, vocabulary=known, global_k=global_k, **policy)
    return ranked


NO_CONTEXT: Mapping[str, Vector] = {}


def at(degrees: float) -> Vector:
    """A unit vector at an angle: its cosine with `at(0)` is that of the angle."""
    return unit(math.cos(math.radians(degrees)), math.sin(math.radians(degrees)))


def context_model(terms: Mapping[str, Vector], idf: Mapping[str, float] | None = None) -> ContextModel:
    return ContextModel(
        digest="context",
        terms={term: place for place, term in enumerate(terms)},
        idf=np.array([(idf or {}).get(term, 1.0) for term in terms]),
        components=np.array(list(terms.values()), dtype=np.float64).reshape(len(terms), 2),
        rows=np.zeros((len(terms), 2), dtype=np.float32),
    )


def tags_of(counts: Mapping[str, int | None], nsfw: Mapping[str, float] | None = None) -> dict[str, tags.Tag]:
    ratings = nsfw or {}
    return {
        name: tags.Tag(name=name, count=count, nsfw_probability=ratings.get(name)) for name, count in counts.items()
    }


def vocabulary(
    counts: Mapping[str, int | None],
    *,
    aliases: Mapping[str, tuple[str, ...]] | None = None,
    nsfw: Mapping[str, float] | None = None,
    vectors: Mapping[str, Vector] | None = None,
    lookups: Mapping[str, Vector] | None = None,
    rows: Mapping[str, Vector] = NO_CONTEXT,
    terms: Mapping[str, Vector] = NO_CONTEXT,
    idf: Mapping[str, float] | None = None,
) -> SearchedVocabulary:
    """A vocabulary with everything. `lookups` are vectors of words outside of it; other words have none."""
    inside = vectors or {}
    stored = InMemoryVocabulary(tags_of(counts, nsfw), aliases or {})
    tokens = token_model({**inside, **(lookups or {})})
    return SearchedVocabulary(stored.look_up, NotedSearch(inside), tokens, context_model(terms, idf), rows)


def searches(searched: SearchedVocabulary) -> list[tuple[str, ...]]:
    assert isinstance(searched.search, NotedSearch)
    return searched.search.asked


async def candidates(
    searched: SearchedVocabulary, *phrases: str, allow_nsfw_tags: bool = True, **options: Any
) -> list[tags.Candidate]:
    found = await candidates_from_phrases(searched, phrases, allow_nsfw_tags=allow_nsfw_tags, **options)
    return list(found.candidates)


async def reports(searched: SearchedVocabulary, *phrases: str, **options: Any) -> list[tags.PhraseReport]:
    found = await candidates_from_phrases(searched, phrases, allow_nsfw_tags=True, **options)
    return list(found.phrase_reports)


def names(found: list[tags.Candidate]) -> list[str]:
    return [candidate.tag for candidate in found]


def retrieved(similarities: Mapping[str, Mapping[str, float]], *, required: tuple[str, ...] = ()) -> tags.RetrievedTags:
    """The results of phrases: phrase -> tag -> similarity, each tag used once."""

    def candidate(phrase: str, tag: str, score: float) -> tags.Candidate:
        of_phrase: dict[str, Any] = {"alias_token": tag, "sources": (normalise(phrase),)}
        return tags.Candidate(tag=tag, count=1, score_fasttext=score, score_combined=score, **of_phrase)

    return tags.RetrievedTags(
        phrases=tuple(
            tags.PhraseReport(
                **dict(tags.Phrase(phrase=phrase, normalized=normalise(phrase), lookup=lookup_of(phrase))),
                required=tuple(tag for tag in sorted(found) if tag in required),
                candidates=tuple(candidate(phrase, tag, found[tag]) for tag in sorted(found)),
            )
            for phrase, found in similarities.items()
        ),
    )
