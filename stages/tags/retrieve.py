"""Stage `retrieve`: the canonical tags of each phrase, by name, by alias and by neighbours."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from schemas.values.tags import (
    EmbeddedPhrases,
    FoundForPhrase,
    FoundTag,
    Lexicon,
    NearToken,
    Phrase,
    RetrievedTags,
    Tag,
)
from stages.ports import NeighbourSearch, TagLexicon, TokenQuery, Vectors
from stages.tags.phrases import final_phrases
from stages.tags.rerank import is_nsfw, is_rare, named
from stages.tags.similarity import ContextModel, SentenceModel, TokenModel, context_vector, term_weights

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
    exact = {
        lookup: [tag.name for tag in named(lookup, known) if not is_rare(tag, min_tag_count)] for lookup in lookups
    }
    queries = [query for query in _queries(embedded, vectors) if not (skip_exact and exact[query.token])]
    nearest = await asyncio.to_thread(search.nearest, queries, per_phrase_k) if queries else []
    near = {query.token: neighbours for query, neighbours in zip(queries, nearest, strict=True)}
    tokens = {neighbour.token for neighbours in nearest for neighbour in neighbours}
    around = await lexicon.look_up(vocabulary_id, sorted(tokens))
    words = Lexicon(tags=known.tags | around.tags, aliases=known.aliases | around.aliases)
    found = []
    for phrase in embedded.phrases:
        met = _met(phrase, near.get(phrase.lookup, ()), words)
        rare = [name for name, (tag, _) in met.items() if is_rare(tag, min_tag_count)]
        kept = [
            _weighted(_found(tag, token), phrase, embedded)
            for name, (tag, token) in sorted(met.items())
            if name not in rare and (allow_nsfw_tags or not is_nsfw(tag))
        ]
        found.append(
            FoundForPhrase(
                phrase=phrase,
                required=tuple(one.tag for one in kept if one.tag in exact[phrase.lookup]),
                found=tuple(kept),
                too_rare=len(rare),
                not_permitted=len(met) - len(rare) - len(kept),
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


def _met(phrase: Phrase, neighbours: Sequence[NearToken], words: Lexicon) -> dict[str, tuple[Tag, NearToken]]:
    """By name, each tag that the phrase names, or a neighbour, with the nearest of its tokens."""
    itself = NearToken(token=phrase.lookup, score_fasttext=EXACT)
    met: dict[str, tuple[Tag, NearToken]] = {}
    for token in (itself, *sorted(neighbours, key=lambda near: (-near.similarity, near.token))):
        for tag in named(token.token, words):
            met.setdefault(tag.name, (tag, token))
    return met


def _found(tag: Tag, near: NearToken) -> FoundTag:
    scores = near.model_dump(exclude={"token"})
    return FoundTag(tag=tag.name, title=tag.title, alias_token=near.token, count=tag.count, **scores)


def _weighted(found: FoundTag, phrase: Phrase, embedded: EmbeddedPhrases) -> FoundTag:
    if embedded.token_dimension is None:
        return found
    weight = HEAD_WEIGHT if phrase.is_head else 1.0
    return found.model_copy(update={"score_similarity": weight * found.similarity})


class Sentences(NamedTuple):
    """What the sentence embedder gave for final phrases."""

    model: SentenceModel
    lookups: Sequence[str]
    """Those that share a character n-gram with the vocabulary: others are near nothing."""
    vectors: Vectors
    """One row per lookup."""


def embed_phrases(
    rewrite_phrases: Sequence[str],
    *,
    tokens: TokenModel,
    context_model: ContextModel,
    context_tags: Sequence[str] = (),
    context_tag_weight: float,
    sentences: Sentences | None = None,
) -> tuple[EmbeddedPhrases, Vectors]:
    """Normalise the phrases, add heads, and embed them: a row per lookup in `embedded`.

    Lookups that no model can embed have no vector. With `sentences` a row is the token model's vector, then the
    sentence's, and heads do not count in the context: the phrase of a head would draw towards the head. Without, heads
    count like phrases. Without phrases there are no vectors, whatever the context tags.
    """
    phrases = final_phrases(rewrite_phrases)
    lookups = [phrase.lookup for phrase in phrases]
    vectors = tokens.vectors_of(lookups)
    embedded = tuple(lookup for lookup in lookups if lookup in vectors) if sentences is None else sentences.lookups
    in_context = [phrase for phrase in phrases if sentences is None or not phrase.is_head]
    weights = term_weights(in_context, context_tags, context_tag_weight=context_tag_weight)
    context = context_vector(context_model, weights)
    value = EmbeddedPhrases(
        model=tokens.name,
        model_digest=tokens.digest,
        phrases=tuple(_with_terms(phrase, context_model) for phrase in phrases),
        embedded=tuple(embedded),
        sentence_model=None if sentences is None else sentences.model.model,
        sentence_digest=None if sentences is None else sentences.model.digest,
        token_dimension=None if sentences is None else tokens.dimension,
        context=None if context is None else tuple(context.tolist()),
    )
    nothing = np.zeros(tokens.dimension, dtype=np.float32)
    rows = [vectors.get(lookup, nothing) for lookup in embedded]
    by_tokens = np.asarray(rows, dtype=np.float32).reshape(len(rows), tokens.dimension)
    return value, by_tokens if sentences is None or not rows else np.hstack((by_tokens, sentences.vectors))


def _with_terms(phrase: Phrase, model: ContextModel) -> Phrase:
    field = "tfidf_vocab" if phrase.lookup in model.terms else "oov_terms"
    return phrase.model_copy(update={field: (phrase.lookup,)})
