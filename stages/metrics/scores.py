"""The errors of scores: of items, of totals, and how many items have one."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from schemas.values.participants import ITEM_SCORES, PHQ8Item
from schemas.values.scoring import BinaryMetrics, ItemScore, Subject, TotalMetrics
from stages.participants.score_reply import severity_of

Floats = NDArray[np.float64]

ORDER = tuple(PHQ8Item)
"""The items, in the order of the columns."""

ITEMS = len(ORDER)


@dataclass(frozen=True, eq=False)
class Cohort:
    """The successful participants of a run, ascending by id; build it with `cohort_of`."""

    subjects: tuple[Subject, ...]

    def __len__(self) -> int:
        return len(self.subjects)

    def _matrix(self, value: Callable[[Subject, PHQ8Item], float]) -> Floats:
        rows = [[value(subject, item) for item in ORDER] for subject in self.subjects]
        return np.array(rows, dtype=np.float64).reshape(len(self), ITEMS)

    def of_items(self, value: Callable[[ItemScore], float]) -> Floats:
        """A number for every scored item; 0 without a score."""
        return self._matrix(lambda one, item: 0.0 if one.items[item].score is None else value(one.items[item]))

    @cached_property
    def is_scored(self) -> NDArray[np.bool_]:
        """False where the item is N/A."""
        return self._matrix(lambda one, item: one.items[item].score is not None).astype(np.bool_)

    @cached_property
    def truth(self) -> Floats:
        return self._matrix(lambda one, item: one.truth[item])

    @cached_property
    def scores(self) -> Floats:
        """0 without a score; see also `is_scored`."""
        return self.of_items(lambda item: float(item.score or 0))

    @cached_property
    def errors(self) -> Floats:
        """|score - truth|; 0 without a score."""
        return np.where(self.is_scored, np.abs(self.scores - self.truth), 0.0)

    @cached_property
    def totals(self) -> Floats:
        """The sum of the scored items of each participant."""
        return np.asarray(self.scores.sum(axis=1))

    @cached_property
    def true_totals(self) -> Floats:
        return np.asarray(self.truth.sum(axis=1))

    @cached_property
    def scored_items(self) -> Floats:
        """How many items of each participant have a score."""
        return np.asarray(self.is_scored.sum(axis=1), dtype=np.float64)


def cohort_of(subjects: Iterable[Subject]) -> Cohort:
    """The subjects in ascending order of their ids, which is the order of resampling."""
    return Cohort(tuple(sorted(subjects, key=lambda subject: subject.participant_id)))


# A formula takes a cohort and a matrix of draws, one row per resample and one column per participant, and returns one
# value per row. A row of ones is the cohort itself. So the point estimate and the bootstrap share each formula.

Draws = Floats
"""How often each participant (column, in the order of the cohort) is in each resample (row)."""


Metric = Callable[[Cohort, Draws], Floats]
"""A formula: one value per row of the draws; NaN if there is none, which is used only inside stages.metrics."""

Metrics = Callable[[Cohort, Draws], Mapping[str, Floats]]
"""Several formulas by name, so that they can share what they are made of."""


def together(metrics: Mapping[str, Metric]) -> Metrics:
    """Formulas that share nothing."""
    return lambda cohort, draws: {name: metric(cohort, draws) for name, metric in metrics.items()}


def everybody_once(cohort: Cohort) -> Draws:
    """One row of ones."""
    return np.ones((1, len(cohort)))


def known(value: float) -> float | None:
    """The value, or None for NaN."""
    return None if np.isnan(value) else value


def ratio(parts: Floats, wholes: Floats) -> Floats:
    """parts / wholes; NaN if the whole is 0."""
    return np.asarray(parts / np.where(wholes == 0, np.nan, wholes))


def binary_rates(cohort: Cohort, draws: Draws, *, threshold: int) -> dict[str, Floats]:
    """The rates of BinaryMetrics over each resample. The truth is depressed when the true total reaches the same
    threshold. Participants without a prediction are excluded, not counted as missed. F1 has no value if precision or
    recall has none, or both are 0."""
    sides = _sides(cohort, threshold)
    true_positive, false_positive, true_negative, false_negative = (draws @ side for side in sides.values())
    predicted = true_positive + false_positive + true_negative + false_negative
    precision = ratio(true_positive, true_positive + false_positive)
    recall = ratio(true_positive, true_positive + false_negative)
    ill = draws * (sides["true_positive"] | sides["false_negative"])
    well = draws * (sides["true_negative"] | sides["false_positive"])
    # The share of pairs of these that totals rank correctly, of which the lower bound counts; equal ones count half.
    above = np.sign(cohort.totals[:, None] - cohort.totals[None, :]) / 2 + 0.5
    return {
        "coverage": ratio(predicted, draws.sum(axis=1)),
        "accuracy": ratio(true_positive + true_negative, predicted),
        "precision": precision,
        "recall": recall,
        "f1": ratio(2 * precision * recall, precision + recall),
        "auroc": ratio(((ill @ above) * well).sum(axis=1), ill.sum(axis=1) * well.sum(axis=1)),
    }


def binary_metrics(cohort: Cohort, *, threshold: int) -> BinaryMetrics:
    """All of these over the cohort."""
    confusion = {name: int(side.sum()) for name, side in _sides(cohort, threshold).items()}
    return BinaryMetrics(
        subjects=len(cohort),
        predicted=sum(confusion.values()),
        confusion=confusion,
        **_known(binary_rates(cohort, everybody_once(cohort), threshold=threshold)),
    )


def _known(rates: Mapping[str, Floats]) -> dict[str, float | None]:
    return {name: known(float(values[0])) for name, values in rates.items()}


def _sides(cohort: Cohort, threshold: int) -> dict[str, NDArray[np.bool_]]:
    """Who is on which side, by prediction and truth. Only a total with both bounds on one side is a prediction."""
    highest = cohort.totals + ITEM_SCORES[-1] * (ITEMS - cohort.scored_items)
    positive, negative = cohort.totals >= threshold, highest < threshold
    truth = cohort.true_totals >= threshold
    return {
        "true_positive": positive & truth,
        "false_positive": positive & ~truth,
        "true_negative": negative & ~truth,
        "false_negative": negative & truth,
    }


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
    """Scored items / all items of all participants: the coverage that no threshold on confidence can exceed. Unlike in
    `prediction_coverage`, participants without any scored item count (Spec 25)."""
    return ratio(draws @ cohort.scored_items, ITEMS * draws.sum(axis=1))


def item_mae(cohort: Cohort, draws: Draws, *, item: PHQ8Item) -> Floats:
    """The MAE of one item over the participants with a score for it."""
    column = list(PHQ8Item).index(item)
    return ratio(draws @ cohort.errors[:, column], draws @ cohort.is_scored[:, column].astype(np.float64))


def has_total(cohort: Cohort, *, min_coverage: float) -> NDArray[np.bool_]:
    """Which participants have ceil(min_coverage x 8) scored items, and so a total. At a minimum of 0 one scored item is
    still required: a total of 0 without any score would be invented."""
    return cohort.scored_items >= max(1, ceil(min_coverage * ITEMS))


def total_rates(cohort: Cohort, draws: Draws, *, min_coverage: float) -> dict[str, Floats]:
    """The rates of TotalMetrics over each resample; a total is the sum of the scored items.

    `pearson_r` has no value for fewer than two participants, or without variance in totals or truth:
    r = (n sum(xy) - sum(x) sum(y)) / sqrt((n sum(xx) - sum(x)^2) (n sum(yy) - sum(y)^2)); all sums are of whole
    numbers, so that zero variance is exactly 0. `severity_accuracy` is the share of totals in the band of the truth.
    """
    x, y = cohort.totals, cohort.true_totals
    has = has_total(cohort, min_coverage=min_coverage).astype(np.float64)
    n, sum_x, sum_y, sum_xy, sum_xx, sum_yy = (draws @ (has * column) for column in (1, x, y, x * y, x * x, y * y))
    spread = (n * sum_xx - sum_x**2) * (n * sum_yy - sum_y**2)
    bands = [[severity_of(total) for total in totals.astype(int).tolist()] for totals in (x, y)]
    hits = np.array([one is other for one, other in zip(*bands, strict=True)], dtype=np.float64)

    def mean(values: Floats) -> Floats:
        return ratio(draws @ (has * values), n)

    return {
        "coverage": ratio(n, draws.sum(axis=1)),
        "mae": mean(np.abs(x - y)),
        "rmse": np.asarray(np.sqrt(mean((x - y) ** 2))),
        "pearson_r": ratio(n * sum_xy - sum_x * sum_y, np.sqrt(spread)),
        "severity_accuracy": mean(hits),
    }


def total_metrics(cohort: Cohort, *, min_coverage: float) -> TotalMetrics:
    """All of these over the cohort."""
    return TotalMetrics(
        subjects=len(cohort),
        predicted=int(has_total(cohort, min_coverage=min_coverage).sum()),
        **_known(total_rates(cohort, everybody_once(cohort), min_coverage=min_coverage)),
    )
