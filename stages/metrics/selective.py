"""Selective prediction (Spec 25): how the risk grows as less confident items are included.

The population is every item of every successful participant, N = 8 x participants. Scored items are taken by
confidence, highest first; items of equal confidence are taken together, in one step. A step has a coverage, k / N,
a selective risk, sum of losses / k, and a generalised risk, sum of losses / N. The curve ends at Cmax.
AURC: Geifman and El-Yaniv 2017. AUGRC: Traub et al. 2024 (arXiv 2407.01032).
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from schemas.values.metrics import RiskCoveragePoint
from schemas.values.phq8 import ITEM_SCORES
from stages.metrics.cohort import ITEMS, Cohort, Floats
from stages.metrics.confidence import Confidence
from stages.metrics.draws import Draws, everybody_once, ratio


class Loss(StrEnum):
    """The cost of an error."""

    ABS_NORM = "abs_norm"
    """|score - truth| / 3, so 0..1."""
    ABS = "abs"
    """|score - truth|, so 0..3."""


class Steps(NamedTuple):
    """One row per resample, one column per level of confidence, highest first.

    A level without an item in a resample repeats the step before; before the first item the risks are NaN and 0.
    """

    coverage: Floats
    selective_risk: Floats
    generalized_risk: Floats


def losses(cohort: Cohort, loss: Loss) -> Floats:
    """The loss of each scored item; 0 without a score."""
    return cohort.errors / ITEM_SCORES[-1] if loss is Loss.ABS_NORM else cohort.errors


def steps(cohort: Cohort, draws: Draws, *, confidences: Floats, loss: Loss) -> Steps:
    """The curves over items with these confidences, a matrix as `Cohort.of_items` gives it."""
    participants, items = np.nonzero(cohort.is_scored)
    levels, level_of = np.unique(-confidences[participants, items], return_inverse=True)
    taken, lost = np.zeros((2, len(cohort), len(levels)))
    np.add.at(taken, (participants, level_of), 1)
    np.add.at(lost, (participants, level_of), losses(cohort, loss)[participants, items])
    all_taken, all_lost = np.cumsum(draws @ taken, axis=1), np.cumsum(draws @ lost, axis=1)
    population = ITEMS * draws.sum(axis=1, keepdims=True)
    return Steps(
        coverage=ratio(all_taken, population),
        selective_risk=ratio(all_lost, all_taken),
        generalized_risk=ratio(all_lost, population),
    )


def areas(cohort: Cohort, draws: Draws, *, confidence: Confidence, loss: Loss = Loss.ABS_NORM) -> dict[str, Floats]:
    """AURC and AUGRC, from one curve."""
    curve = steps(cohort, draws, confidences=cohort.of_items(confidence), loss=loss)
    return {"aurc": area_under_selective_risk(curve), "augrc": area_under_generalized_risk(curve)}


def area_under_selective_risk(curve: Steps, *, up_to: float = 1.0) -> Floats:
    """AURC: the area under selective risk over coverage, by trapezoids, the first risk extended to coverage 0.

    With `up_to` the area ends at that coverage, or at Cmax if lower, with the risk there interpolated linearly. Without
    scores the area is None, since 0 would be the best possible area.
    """
    if not curve.coverage.shape[1]:
        return np.full(len(curve.coverage), np.nan)
    first_step = np.argmax(curve.coverage > 0, axis=1)[:, None]
    first_risk = np.take_along_axis(curve.selective_risk, first_step, axis=1)
    risk = np.where(curve.coverage > 0, curve.selective_risk, first_risk)
    return _area(curve.coverage, risk, start=first_risk, up_to=up_to)


def area_under_generalized_risk(curve: Steps, *, up_to: float = 1.0) -> Floats:
    """AUGRC: the area under generalised risk over coverage, by trapezoids from risk 0 at coverage 0.

    `up_to` is that of `area_under_selective_risk`.
    """
    if not curve.coverage.shape[1]:
        return np.full(len(curve.coverage), np.nan)
    area = _area(curve.coverage, curve.generalized_risk, start=np.zeros((len(curve.coverage), 1)), up_to=up_to)
    return np.where(curve.coverage[:, -1] > 0, area, np.nan)


def risks_reaching(curve: Steps, coverages: Sequence[float]) -> Iterator[Floats]:
    """The selective risk of the first step that reaches each of these ascending coverages; None beyond Cmax."""
    rows, beyond = np.arange(len(curve.coverage)), ((0, 0), (0, 1))
    reached = np.pad(curve.coverage, beyond, constant_values=np.inf)
    risks = np.pad(curve.selective_risk, beyond, constant_values=np.nan)
    first = np.zeros_like(rows)
    for coverage in coverages:
        _refuse_outside(coverage, "coverage")
        while len(short := np.flatnonzero(reached[rows, first] < coverage)):
            first[short] += 1
        yield risks[rows, first]


def risk_coverage_curve(
    cohort: Cohort, *, confidence: Confidence, loss: Loss = Loss.ABS_NORM
) -> tuple[RiskCoveragePoint, ...]:
    """The steps over the cohort, coverage up; none if nothing is scored."""
    confidences = cohort.of_items(confidence)
    curve = steps(cohort, everybody_once(cohort), confidences=confidences, loss=loss)
    levels = np.unique(confidences[cohort.is_scored])[::-1].tolist()
    columns = (levels, *(rows[0].tolist() for rows in curve))
    return tuple(
        RiskCoveragePoint(confidence=level, coverage=coverage, selective_risk=selective, generalized_risk=generalized)
        for level, coverage, selective, generalized in zip(*columns, strict=True)
    )


def _area(coverage: Floats, risk: Floats, *, start: Floats, up_to: float) -> Floats:
    """Trapezoids between (0, start), the points, and where the line through the points crosses `up_to`."""
    _refuse_outside(up_to, "up_to")
    x = np.concatenate([np.zeros_like(start), coverage], axis=1)
    y = np.concatenate([start, risk], axis=1)
    width, rise = np.diff(x, axis=1), np.diff(y, axis=1)
    if up_to < 1:
        whole, width = width, np.diff(np.minimum(x, up_to), axis=1)
        rise *= np.nan_to_num(ratio(width, whole))
    heights = y[:, :-1] + rise
    heights += y[:, :-1]
    heights *= width
    return np.asarray(heights.sum(axis=1) / 2)


def _refuse_outside(coverage: float, name: str) -> None:
    if not 0 < coverage <= 1:
        raise ValueError(f"{name} is {coverage:g}; give a coverage above 0 and at most 1.")
