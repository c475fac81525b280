"""The distance of the order of confidences from the best one (Spec 052): an oracle takes the smallest losses first.

The oracle takes items one by one, also those of equal loss.
"""

import numpy as np

from stages.metrics.cohort import ITEMS, Cohort, Floats
from stages.metrics.draws import Draws, ratio
from stages.metrics.selective import Loss, areas_under, losses


def aurc_optimal(cohort: Cohort, draws: Draws, *, loss: Loss = Loss.ABS_NORM) -> Floats:
    """The AURC of the oracle.

    With r(k) the mean of the k smallest losses and K scored items, the trapezoids of width 1 / N add up to
    (r(1) + ... + r(K) + r(1) / 2 - r(K) / 2) / N. Where the m smaller losses add up to S, and n items have the loss l
    or a smaller one, r(k) = l + (S - m l) / k for k = m + 1 ... n; these add up to (n - m) l + (S - m l) (H(n) - H(m)),
    H(n) being 1 + 1/2 + ... + 1/n.
    """
    of_items = losses(cohort, loss)
    levels = np.array(sorted(set(of_items[cohort.is_scored].tolist())))
    if not len(levels):
        return np.full(len(draws), np.nan)
    taken = draws @ ((of_items[:, :, None] == levels) & cohort.is_scored[:, :, None]).sum(axis=1).astype(np.float64)
    n, lost = np.cumsum(taken, axis=1), np.cumsum(taken * levels, axis=1)
    m, lost_before = n - taken, lost - taken * levels
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, n.max() + 1))])
    sums = taken * levels + (lost_before - m * levels) * (harmonic[n.astype(int)] - harmonic[m.astype(int)])
    first_risk = levels[np.argmax(taken > 0, axis=1)]
    last_risk = ratio(lost[:, -1], n[:, -1])
    return ratio(sums.sum(axis=1) + first_risk / 2 - last_risk / 2, ITEMS * draws.sum(axis=1))


def augrc_optimal(cohort: Cohort, draws: Draws, *, loss: Loss = Loss.ABS_NORM) -> Floats:
    """The AUGRC of the oracle. Among equal losses this risk grows linearly, so one step each gives the same area."""
    return areas_under(cohort, draws, confidences=-losses(cohort, loss), loss=loss).augrc()
