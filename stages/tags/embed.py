"""Stage `embed`: the final phrases, their vectors, and the context of the request."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from schemas.values.tags import EmbeddedPhrases, Phrase
from stages.ports import Vectors
from stages.tags.models import ContextModel, SentenceModel, context_vector, term_weights
from stages.tags.phrases import final_phrases
from stages.tags.ports import TokenVectors


class Sentences(NamedTuple):
    """What the sentence embedder gave for final phrases."""

    model: SentenceModel
    lookups: Sequence[str]
    """Those that share a character n-gram with the vocabulary: others are near nothing."""
    vectors: Vectors
    """One row per lookup."""


class PhraseVectors(NamedTuple):
    """The phrases, and a matrix with one row per lookup in `phrases.embedded`."""

    phrases: EmbeddedPhrases
    vectors: Vectors


def embed_phrases(
    rewrite_phrases: Sequence[str],
    *,
    tokens: TokenVectors,
    context_model: ContextModel,
    context_tags: Sequence[str] = (),
    context_tag_weight: float,
    sentences: Sentences | None = None,
) -> PhraseVectors:
    """Normalise the phrases, add heads, and embed them. Lookups that no model can embed have no vector.

    With `sentences` a row is the token model's vector, then the sentence's, and heads do not count in the context: the
    phrase of a head would draw towards the head. Without, heads count like phrases. Without phrases there are no
    vectors, whatever the context tags.
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
    return PhraseVectors(
        value, by_tokens if sentences is None or not rows else np.hstack((by_tokens, sentences.vectors))
    )


def _with_terms(phrase: Phrase, model: ContextModel) -> Phrase:
    field = "tfidf_vocab" if phrase.lookup in model.terms else "oov_terms"
    return phrase.model_copy(update={field: (phrase.lookup,)})
