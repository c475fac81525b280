"""The context vector of a request, and the similarity of a tag to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schemas.values.tags import Phrase
from stages.tags.phrases import lookup_of
from stages.tags.ports import Vector


@dataclass(frozen=True, kw_only=True)
class ContextModel:
    """TF-IDF with a truncated singular value decomposition: the part that a request needs."""

    digest: str
    """The SHA-256 of its bytes."""
    terms: Mapping[str, int]
    """Term -> its row in the two arrays."""
    idf: NDArray[np.float64]
    components: NDArray[np.float64]
    """One row per term, one column per component."""


def term_weights(
    phrases: Sequence[Phrase], context_tags: Sequence[str], *, context_tag_weight: float
) -> dict[str, float]:
    """The weight of each term: 1 as a final phrase plus `context_tag_weight` for each time it is a context tag.

    Context tags are normalised like phrases; blank ones are dropped.
    """
    weights = {phrase.lookup: 1.0 for phrase in phrases}
    for lookup in filter(None, map(lookup_of, context_tags)):
        weights[lookup] = weights.get(lookup, 0.0) + context_tag_weight
    return weights


def context_vector(model: ContextModel, weights: Mapping[str, float]) -> NDArray[np.float64] | None:
    """The weighted terms times their idf, projected on the components, at length 1; None if that is all zeros.

    Terms that are not in the model do not count. Weights are raw: no logarithm is taken. The result does not depend on
    the order of the terms, to the last bit.
    """
    summed = np.zeros(model.components.shape[1])
    for term in sorted(weights.keys() & model.terms.keys()):
        row = model.terms[term]
        summed += weights[term] * model.idf[row] * model.components[row]
    length = float(np.linalg.norm(summed))
    return summed / length if length > 0 else None


def context_score(context: NDArray[np.float64], row: Vector) -> float | None:
    """The cosine of the request's context and a tag's row; None if the row is all zeros."""
    exact = row.astype(np.float64)
    length = float(np.linalg.norm(exact))
    return None if length == 0 else min(1.0, max(-1.0, float(exact @ context) / length))
