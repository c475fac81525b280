"""Scores of different scales, made comparable."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

Normalise = Callable[[Scores], Scores]


def z_scores(scores: Scores) -> Scores:
    """Distances from the mean in standard deviations (of the population). Equal scores are all 0.

    >>> z_scores(np.array([1.0, 2.0, 3.0])).round(4).tolist()
    [-1.2247, 0.0, 1.2247]
    """
    if _are_equal(scores) or scores.std() == 0:  # the squares of tiny differences are 0
        return np.zeros_like(scores)
    return np.asarray((scores - scores.mean()) / scores.std())


def unit_range(scores: Scores) -> Scores:
    """The scores shifted and scaled to 0 to 1. Equal scores are all 0.

    >>> unit_range(np.array([2.0, 4.0, 3.0])).tolist()
    [0.0, 1.0, 0.5]
    """
    if _are_equal(scores):
        return np.zeros_like(scores)
    return np.asarray((scores - scores.min()) / (scores.max() - scores.min()))


def _are_equal(scores: Scores) -> bool:
    return len(scores) == 0 or bool(scores.max() == scores.min())
