"""Stage `retrieve`: the canonical tags of each phrase, by name, by alias and by neighbours."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from schemas.values.tags import (
    Candidate,
    EmbeddedPhrases,
    NearToken,
    Phrase,
    PhraseReport,
    RetrievedTags,
    Tag,
    Vocabulary,
)
from stages.ports import LookUp, NeighbourSearch, TokenQuery, Vector, Vectors
from stages.tags.phrases import final_phrases
from stages.tags.rerank import is_nsfw, is_rare, named
from stages.tags.similarity import ContextModel, TokenModel, context_vector, term_weights

EXACT = 1.0
"""The similarity of a tag that a phrase names exactly."""

HEAD_WEIGHT = 0.5
"""The similarity of a head's tags counts so much in a fusion: a head is only a part of a phrase."""


async def retrieve_tags(
    embedded: EmbeddedPhrases,
    vectors: Vectors,
    *,
    look_up: LookUp,
    search: NeighbourSearch,
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
    known = await look_up(lookups)
    exact = {
        lookup: [tag.name for tag in named(lookup, known) if not is_rare(tag, min_tag_count)] for lookup in lookups
    }
    queries = [query for query in _queries(embedded, vectors) if not (skip_exact and exact[query.token])]
    nearest = await asyncio.to_thread(search, queries, per_phrase_k) if queries else []
    near = {query.token: neighbours for query, neighbours in zip(queries, nearest, strict=True)}
    tokens = {neighbour.alias_token for neighbours in nearest for neighbour in neighbours}
    around = await look_up(sorted(tokens))
    words = Vocabulary(tags=known.tags + around.tags, aliases=known.aliases | around.aliases)
    found = []
    for phrase in embedded.phrases:
        met = _met(phrase, near.get(phrase.lookup, ()), words)
        rare = [name for name, (tag, _) in met.items() if is_rare(tag, min_tag_count)]
        kept = [
            _candidate(phrase, tag, token, is_fused=embedded.token_dimension is not None)
            for name, (tag, token) in sorted(met.items())
            if name not in rare and (allow_nsfw_tags or not is_nsfw(tag))
        ]
        found.append(
            PhraseReport(
                **dict(phrase),
                candidates=tuple(kept),
                required=tuple(one.tag for one in kept if one.tag in exact[phrase.lookup]),
                too_rare=len(rare),
                not_permitted=len(met) - len(rare) - len(kept),
            )
        )
    return RetrievedTags(phrases=tuple(found))


def _queries(embedded: EmbeddedPhrases, vectors: Vectors) -> Iterator[TokenQuery]:
    for lookup, vector in zip(embedded.embedded, vectors, strict=True):
        if embedded.token_dimension is None:
            yield TokenQuery(lookup, vector)
        else:
            of_token, sentence = vector[: embedded.token_dimension], vector[embedded.token_dimension :]
            yield TokenQuery(lookup, of_token if of_token.any() else None, sentence)


def _met(phrase: Phrase, neighbours: Sequence[NearToken], words: Vocabulary) -> dict[str, tuple[Tag, NearToken]]:
    """By name, each tag that the phrase names, or a neighbour, with the nearest of its tokens."""
    itself = NearToken(alias_token=phrase.lookup, score_fasttext=EXACT)
    met: dict[str, tuple[Tag, NearToken]] = {}
    for token in (itself, *sorted(neighbours, key=lambda near: (-near.similarity, near.alias_token))):
        for tag in named(token.alias_token, words):
            met.setdefault(tag.name, (tag, token))
    return met


def _candidate(phrase: Phrase, tag: Tag, near: NearToken, *, is_fused: bool) -> Candidate:
    similarity = near.similarity * (HEAD_WEIGHT if is_fused and phrase.is_head else 1.0)
    scores = dict(near) | ({"score_similarity": similarity} if is_fused else {})
    of_tag = {"tag": tag.name, "title": tag.title, "count": tag.count}
    return Candidate(**of_tag, **scores, score_combined=similarity, sources=(phrase.normalized,))


def embed_phrases(
    rewrite_phrases: Sequence[str],
    *,
    tokens: TokenModel,
    context_model: ContextModel,
    context_tags: Sequence[str] = (),
    context_tag_weight: float,
    sentences: Mapping[str, Vector] | None = None,
) -> tuple[EmbeddedPhrases, Vectors]:
    """Normalise the phrases, add heads, and embed them: a row per lookup in `embedded`.

    Lookups that no model can embed have no vector. `sentences` are the vectors of the sentence embedder, of the lookups
    that share a character n-gram with the vocabulary: others are near nothing. With them a row is the token model's
    vector, then the sentence's, and heads do not count in the context: the phrase of a head would draw towards the
    head. Without, heads count like phrases. Without phrases there are no vectors, whatever the context tags.
    """
    phrases = final_phrases(rewrite_phrases)
    lookups = [phrase.lookup for phrase in phrases]
    vectors = tokens.vectors_of(lookups)
    embedded = tuple(lookup for lookup in lookups if lookup in vectors) if sentences is None else tuple(sentences)
    in_context = [phrase for phrase in phrases if sentences is None or not phrase.is_head]
    weights = term_weights(in_context, context_tags, context_tag_weight=context_tag_weight)
    context = context_vector(context_model, weights)
    value = EmbeddedPhrases(
        model=tokens.name,
        model_digest=tokens.digest,
        phrases=tuple(_with_terms(phrase, context_model) for phrase in phrases),
        embedded=embedded,
        token_dimension=None if sentences is None else tokens.dimension,
        context=None if context is None else tuple(context.tolist()),
    )
    nothing = np.zeros(tokens.dimension, dtype=np.float32)
    rows = [vectors.get(lookup, nothing) for lookup in embedded]
    by_tokens = np.asarray(rows, dtype=np.float32).reshape(len(rows), tokens.dimension)
    return value, np.hstack((by_tokens, np.array([*sentences.values()]))) if sentences else by_tokens


def _with_terms(phrase: Phrase, model: ContextModel) -> Phrase:
    field = "tfidf_vocab" if phrase.lookup in model.terms else "oov_terms"
    return phrase.model_copy(update={field: (phrase.lookup,)})
