"""The share of items with a score."""

import numpy as np

from stages.metrics.cohort import ITEMS, Cohort, Floats
from stages.metrics.draws import Draws, ratio


def prediction_coverage(cohort: Cohort, draws: Draws) -> Floats:
    """Scored items / all items of the evaluated participants, who have at least one scored item."""
    evaluated = (cohort.scored_items > 0).astype(np.float64)
    return ratio(draws @ cohort.scored_items, ITEMS * (draws @ evaluated))


def cmax(cohort: Cohort, draws: Draws) -> Floats:
    """Scored items / all items of all participants: the coverage that no threshold on confidence can exceed.

    Unlike in `prediction_coverage`, participants without any scored item count (Spec 25).
    """
    return ratio(draws @ cohort.scored_items, ITEMS * draws.sum(axis=1))
