"""Similarity and context as one score, also for tags without a context score."""

from collections.abc import Iterable

import numpy as np

IMPUTED_QUANTILE = 0.10


def combined_score(similarity: float, score_context: float, *, context_weight: float) -> float:
    """The weighted mean of similarity and context.

    >>> combined_score(1.0, 0.5, context_weight=0.5), combined_score(0.9, 0.1, context_weight=0)
    (0.75, 0.9)
    """
    return (1 - context_weight) * similarity + context_weight * score_context


def imputed_context(scores: Iterable[float | None]) -> float:
    """The context score of tags that have none: the 10th percentile of the others, linearly interpolated.

    0 if no tag of the phrase has one.

    >>> round(imputed_context([0.9, None, 0.2, 0.4]), 12)
    0.24
    """
    known = [score for score in scores if score is not None]
    return float(np.quantile(known, IMPUTED_QUANTILE)) if known else 0.0
