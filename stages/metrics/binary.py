"""Predictions of depression, compared with the truth (Spec 062)."""

from typing import NamedTuple

import numpy as np

from schemas.values.metrics import BinaryMetrics, Confusion
from schemas.values.scoring import Totals
from stages.metrics.cohort import Cohort, Draws, Floats, everybody_once, known, ratio

THRESHOLD = 10
"""The total from which a participant counts as depressed."""


def is_depressed(totals: Totals, *, threshold: int = THRESHOLD) -> bool | None:
    """The prediction if both bounds of the total are on the same side of the threshold; else None.

    >>> from stages.participants.score_reply import totals_of
    >>> [is_depressed(totals_of(scores)) for scores in ([3, 3, 3, 1], [1, 2, None], [3, 3, 3, None])]
    [True, False, None]
    """
    if totals.minimum >= threshold:
        return True
    return False if totals.maximum < threshold else None


class Counts(NamedTuple):
    """Participants by prediction and truth, one number per row of the draws."""

    true_positive: Floats
    false_positive: Floats
    true_negative: Floats
    false_negative: Floats


def counts(cohort: Cohort, draws: Draws, *, threshold: int = THRESHOLD) -> Counts:
    """Predictions against the truth, which is depressed when the true total reaches the same threshold."""
    sides = _Sides(cohort, threshold)
    return Counts(
        true_positive=draws @ (sides.positive & sides.truth),
        false_positive=draws @ (sides.positive & ~sides.truth),
        true_negative=draws @ (sides.negative & ~sides.truth),
        false_negative=draws @ (sides.negative & sides.truth),
    )


def binary_coverage(cohort: Cohort, draws: Draws, *, threshold: int = THRESHOLD) -> Floats:
    """Participants with a prediction / all participants."""
    sides = _Sides(cohort, threshold)
    return ratio(draws @ (sides.positive | sides.negative), draws.sum(axis=1))


def accuracy(cohort: Cohort, draws: Draws, *, threshold: int = THRESHOLD) -> Floats:
    """(TP + TN) / all predictions."""
    found = counts(cohort, draws, threshold=threshold)
    return ratio(found.true_positive + found.true_negative, np.sum(found, axis=0))


def precision(cohort: Cohort, draws: Draws, *, threshold: int = THRESHOLD) -> Floats:
    """TP / (TP + FP)."""
    found = counts(cohort, draws, threshold=threshold)
    return ratio(found.true_positive, found.true_positive + found.false_positive)


def recall(cohort: Cohort, draws: Draws, *, threshold: int = THRESHOLD) -> Floats:
    """TP / (TP + FN); participants without a prediction are excluded, not counted as missed."""
    found = counts(cohort, draws, threshold=threshold)
    return ratio(found.true_positive, found.true_positive + found.false_negative)


def f1(cohort: Cohort, draws: Draws, *, threshold: int = THRESHOLD) -> Floats:
    """2 P R / (P + R); None if precision or recall is None, or both are 0."""
    p = precision(cohort, draws, threshold=threshold)
    r = recall(cohort, draws, threshold=threshold)
    return ratio(2 * p * r, p + r)


def auroc(cohort: Cohort, draws: Draws, *, threshold: int = THRESHOLD) -> Floats:
    """Among participants with a prediction, the share of (depressed, not depressed) pairs that totals rank correctly.

    Equal totals count half. The total is the lower bound. None without a pair.
    """
    sides = _Sides(cohort, threshold)
    decided = sides.positive | sides.negative
    ill, well = (draws * (decided & group) for group in (sides.truth, ~sides.truth))
    above = np.sign(sides.total[:, None] - sides.total[None, :]) / 2 + 0.5
    return ratio(((ill @ above) * well).sum(axis=1), ill.sum(axis=1) * well.sum(axis=1))


def binary_metrics(cohort: Cohort, *, threshold: int = THRESHOLD) -> BinaryMetrics:
    """All of these over the cohort."""
    formulas = {
        "coverage": binary_coverage,
        "accuracy": accuracy,
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "auroc": auroc,
    }
    once = everybody_once(cohort)
    confusion = {name: int(count[0]) for name, count in counts(cohort, once, threshold=threshold)._asdict().items()}
    return BinaryMetrics(
        subjects=len(cohort),
        predicted=sum(confusion.values()),
        confusion=Confusion(**confusion),
        **{name: known(float(formula(cohort, once, threshold=threshold)[0])) for name, formula in formulas.items()},
    )


class _Sides:
    """The predicted and the true side of each participant."""

    def __init__(self, cohort: Cohort, threshold: int) -> None:
        answers = [is_depressed(of_participant, threshold=threshold) for of_participant in cohort.bounds]
        self.total = cohort.totals
        self.positive = np.array([answer is True for answer in answers], dtype=np.bool_)
        self.negative = np.array([answer is False for answer in answers], dtype=np.bool_)
        self.truth = cohort.true_totals >= threshold
