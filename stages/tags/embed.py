"""Stage `embed`: the final phrases, their vectors, and the context of the request."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from schemas.values.tags import EmbeddedPhrases, Phrase
from stages.ports import Vectors
from stages.tags.context import ContextModel, context_vector, term_weights
from stages.tags.phrases import final_phrases
from stages.tags.ports import TokenVectors


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
) -> PhraseVectors:
    """Normalise the phrases, add heads, and embed them. Lookups that the model cannot embed have no vector.

    Heads count in the context like phrases. Without phrases there are no vectors, whatever the context tags.
    """
    phrases = final_phrases(rewrite_phrases)
    lookups = [phrase.lookup for phrase in phrases]
    vectors = tokens.vectors_of(lookups)
    embedded = tuple(lookup for lookup in lookups if lookup in vectors)
    weights = term_weights(phrases, context_tags, context_tag_weight=context_tag_weight)
    context = context_vector(context_model, weights)
    value = EmbeddedPhrases(
        model=tokens.name,
        model_digest=tokens.digest,
        phrases=tuple(_with_terms(phrase, context_model) for phrase in phrases),
        embedded=embedded,
        context=None if context is None else tuple(context.tolist()),
    )
    rows = [vectors[lookup] for lookup in embedded]
    return PhraseVectors(value, np.asarray(rows, dtype=np.float32).reshape(len(rows), tokens.dimension))


def _with_terms(phrase: Phrase, model: ContextModel) -> Phrase:
    field = "tfidf_vocab" if phrase.lookup in model.terms else "oov_terms"
    return phrase.model_copy(update={field: (phrase.lookup,)})
