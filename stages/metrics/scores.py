"""The errors of scores: of items, of totals, and how many items have one."""

from math import ceil

import numpy as np
from numpy.typing import NDArray

from schemas.values.metrics import Evaluation, ItemMetrics, TotalMetrics
from schemas.values.phq8 import PHQ8Item
from stages.metrics.binary import THRESHOLD, binary_metrics
from stages.metrics.cohort import ITEMS, Cohort, Draws, Floats, everybody_once, known, ratio, value_of
from stages.participants.score_reply import severity_of


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


def prediction_coverage(cohort: Cohort, draws: Draws) -> Floats:
    """Scored items / all items of the evaluated participants, who have at least one scored item."""
    evaluated = (cohort.scored_items > 0).astype(np.float64)
    return ratio(draws @ cohort.scored_items, ITEMS * (draws @ evaluated))


def cmax(cohort: Cohort, draws: Draws) -> Floats:
    """Scored items / all items of all participants: the coverage that no threshold on confidence can exceed.

    Unlike in `prediction_coverage`, participants without any scored item count (Spec 25).
    """
    return ratio(draws @ cohort.scored_items, ITEMS * draws.sum(axis=1))


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


def evaluate(
    cohort: Cohort, *, failed_subjects: int = 0, min_coverage: float = MIN_COVERAGE, threshold: int = THRESHOLD
) -> Evaluation:
    """The metrics over the successful participants; failed ones are only counted."""
    evaluated = int(np.count_nonzero(cohort.scored_items))
    return Evaluation(
        total_subjects=len(cohort) + failed_subjects,
        successful_subjects=len(cohort),
        failed_subjects=failed_subjects,
        excluded_no_evidence=len(cohort) - evaluated,
        evaluated_subjects=evaluated,
        item_mae_weighted=value_of(item_mae_weighted, cohort),
        item_mae_by_item=value_of(item_mae_by_item, cohort),
        item_mae_by_subject=value_of(item_mae_by_subject, cohort),
        prediction_coverage=value_of(prediction_coverage, cohort),
        per_item=per_item(cohort),
        total_metrics=total_metrics(cohort, min_coverage=min_coverage),
        binary_metrics=binary_metrics(cohort, threshold=threshold),
    )
