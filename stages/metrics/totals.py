"""The total score compared with the truth (Spec 061)."""

from math import ceil

import numpy as np
from numpy.typing import NDArray

from schemas.values.metrics import TotalMetrics
from stages.metrics.cohort import ITEMS, Cohort, Floats
from stages.metrics.draws import Draws, everybody_once, known, ratio
from stages.participants.totals import severity_of

MIN_COVERAGE = 0.5


def has_total(cohort: Cohort, *, min_coverage: float = MIN_COVERAGE) -> NDArray[np.bool_]:
    """Which participants have ceil(min_coverage x 8) scored items, and so a total.

    At a minimum of 0 one scored item is still required: a total of 0 without any score would be invented.
    """
    if not 0 <= min_coverage <= 1:
        raise ValueError(f"min_coverage is {min_coverage:g}; give a share from 0 to 1.")
    return cohort.scored_items >= max(1, ceil(min_coverage * ITEMS))


def total_coverage(cohort: Cohort, draws: Draws, *, min_coverage: float = MIN_COVERAGE) -> Floats:
    """Participants with a total / all participants."""
    return ratio(draws @ has_total(cohort, min_coverage=min_coverage).astype(np.float64), draws.sum(axis=1))


def total_mae(cohort: Cohort, draws: Draws, *, min_coverage: float = MIN_COVERAGE) -> Floats:
    """The mean of |total - truth|, the total being the sum of the scored items."""
    return _mean(cohort, draws, np.abs(cohort.totals - cohort.true_totals), min_coverage)


def total_rmse(cohort: Cohort, draws: Draws, *, min_coverage: float = MIN_COVERAGE) -> Floats:
    """The square root of the mean of (total - truth) squared."""
    return np.asarray(np.sqrt(_mean(cohort, draws, (cohort.totals - cohort.true_totals) ** 2, min_coverage)))


def total_pearson_r(cohort: Cohort, draws: Draws, *, min_coverage: float = MIN_COVERAGE) -> Floats:
    """Pearson's correlation of total and truth. None for fewer than two participants or without variance in either.

    r = (n sum(xy) - sum(x) sum(y)) / sqrt((n sum(xx) - sum(x)^2) (n sum(yy) - sum(y)^2)); all sums are of whole
    numbers, so that zero variance is exactly 0.
    """
    x, y = cohort.totals, cohort.true_totals
    has = has_total(cohort, min_coverage=min_coverage).astype(np.float64)
    n, sum_x, sum_y, sum_xy, sum_xx, sum_yy = (draws @ (has * column) for column in (1, x, y, x * y, x * x, y * y))
    spread = (n * sum_xx - sum_x**2) * (n * sum_yy - sum_y**2)
    return ratio(n * sum_xy - sum_x * sum_y, np.sqrt(spread))


def severity_accuracy(cohort: Cohort, draws: Draws, *, min_coverage: float = MIN_COVERAGE) -> Floats:
    """The share of totals that fall into the severity band of the truth."""
    pairs = zip(cohort.totals.astype(int).tolist(), cohort.true_totals.astype(int).tolist(), strict=True)
    hits = [severity_of(total) is severity_of(truth) for total, truth in pairs]
    return _mean(cohort, draws, np.array(hits, dtype=np.float64), min_coverage)


def total_metrics(cohort: Cohort, *, min_coverage: float = MIN_COVERAGE) -> TotalMetrics:
    """All of these over the cohort."""
    formulas = {
        "coverage": total_coverage,
        "mae": total_mae,
        "rmse": total_rmse,
        "pearson_r": total_pearson_r,
        "severity_accuracy": severity_accuracy,
    }
    once = everybody_once(cohort)
    return TotalMetrics(
        subjects=len(cohort),
        predicted=int(has_total(cohort, min_coverage=min_coverage).sum()),
        **{
            name: known(float(formula(cohort, once, min_coverage=min_coverage)[0]))
            for name, formula in formulas.items()
        },
    )


def _mean(cohort: Cohort, draws: Draws, values: Floats, min_coverage: float) -> Floats:
    has = has_total(cohort, min_coverage=min_coverage).astype(np.float64)
    return ratio(draws @ (has * values), draws @ has)
