"""Metrics per item."""

import numpy as np

from schemas.values.metrics import ItemMetrics
from schemas.values.phq8 import PHQ8Item
from stages.metrics.cohort import Cohort, Floats
from stages.metrics.draws import Draws, everybody_once, known, ratio


def item_mae(cohort: Cohort, draws: Draws, *, item: PHQ8Item) -> Floats:
    """The MAE of one item over the participants with a score for it."""
    column = list(PHQ8Item).index(item)
    return ratio(draws @ cohort.errors[:, column], draws @ cohort.is_scored[:, column].astype(np.float64))


def per_item(cohort: Cohort) -> dict[PHQ8Item, ItemMetrics]:
    """MAE, counts and coverage of each item over the evaluated participants, who have at least one scored item."""
    evaluated = int(np.count_nonzero(cohort.scored_items))
    once = everybody_once(cohort)
    counts = dict(zip(PHQ8Item, cohort.is_scored.sum(axis=0).tolist(), strict=True))
    return {
        item: ItemMetrics(
            mae=known(float(item_mae(cohort, once, item=item)[0])),
            count=count,
            coverage=count / evaluated if evaluated else None,
            na_count=evaluated - count,
        )
        for item, count in counts.items()
    }
