"""Random scores of a synthetic participant."""

import random
from collections.abc import Mapping
from itertools import accumulate

from schemas.values.phq8 import PHQ8Item

MARGINALS: Mapping[PHQ8Item, tuple[float, float, float, float]] = {
    PHQ8Item.NO_INTEREST: (0.75, 0.16, 0.05, 0.04),
    PHQ8Item.DEPRESSED: (0.76, 0.17, 0.04, 0.03),
    PHQ8Item.SLEEP: (0.62, 0.22, 0.07, 0.09),
    PHQ8Item.TIRED: (0.50, 0.33, 0.08, 0.09),
    PHQ8Item.APPETITE: (0.75, 0.15, 0.05, 0.05),
    PHQ8Item.FAILURE: (0.83, 0.11, 0.03, 0.03),
    PHQ8Item.CONCENTRATING: (0.83, 0.11, 0.03, 0.03),
    PHQ8Item.MOVING: (0.89, 0.07, 0.02, 0.02),
}
"""Shares of the scores 0..3 among US adults, rounded: CDC NHANES 2005-2018, depression screener DPQ010 to DPQ080."""

WORST_OF = 3
"""Quantiles drawn per score, of which the highest counts: with 3, about three in ten participants reach 10 points."""

SHARED = 0.7
"""The probability that an item follows the participant's overall severity instead of an independent draw."""


def draw_scores(rng: random.Random) -> dict[PHQ8Item, int]:
    """Correlated scores of the eight items, in the questionnaire's order."""
    severity = _draw_quantile(rng)
    return {
        item: _score_at(severity if rng.random() < SHARED else _draw_quantile(rng), shares)
        for item, shares in MARGINALS.items()
    }


def _draw_quantile(rng: random.Random) -> float:
    return max(rng.random() for _ in range(WORST_OF))


def _score_at(quantile: float, shares: tuple[float, ...]) -> int:
    """The score at this quantile of the population."""
    return sum(quantile >= limit for limit in list(accumulate(shares))[:-1])
