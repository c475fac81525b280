"""The mean absolute error of items, three ways. An item without a score is excluded, not counted as an error of 0."""

import numpy as np

from stages.metrics.cohort import Cohort, Floats
from stages.metrics.draws import Draws, ratio


def item_mae_weighted(cohort: Cohort, draws: Draws) -> Floats:
    """The mean over all scored items: participants with more scored items have more weight."""
    return ratio(draws @ cohort.errors.sum(axis=1), draws @ cohort.scored_items)


def item_mae_by_item(cohort: Cohort, draws: Draws) -> Floats:
    """The mean of the eight items' MAEs; an item without any score is excluded."""
    maes = ratio(draws @ cohort.errors, draws @ cohort.is_scored.astype(np.float64))
    return ratio(np.nansum(maes, axis=1), np.count_nonzero(~np.isnan(maes), axis=1).astype(np.float64))


def item_mae_by_subject(cohort: Cohort, draws: Draws) -> Floats:
    """The mean of the participants' own MAEs; a participant without a scored item is excluded."""
    own = np.nan_to_num(ratio(cohort.errors.sum(axis=1), cohort.scored_items))
    return ratio(draws @ own, draws @ (cohort.scored_items > 0).astype(np.float64))
