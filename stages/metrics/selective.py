"""Selective prediction (Spec 25): how the risk grows as less confident items are included.

The population is every item of every successful participant, N = 8 x participants. Scored items are taken by
confidence, highest first; items of equal confidence are taken together, in one step. A step has a coverage, k / N,
a selective risk, sum of losses / k, and a generalised risk, sum of losses / N. The curve ends at Cmax.
AURC: Geifman and El-Yaniv 2017. AUGRC: Traub et al. 2024 (arXiv 2407.01032).
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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


class Step(NamedTuple):
    """A level of confidence: one number for each resample. One without an item of the level repeats the step before."""

    taken: Floats
    """Items of this level."""
    items: Floats
    """Items of this level and of all higher ones; 0 before the first item."""
    losses: Floats
    """The sum of their losses."""
    has_begun: bool
    """Whether all resamples have an item by now."""

    @property
    def selective_risk(self) -> Floats:
        """0 before the first item."""
        return np.asarray(self.losses / (self.items if self.has_begun else np.maximum(self.items, 1)))


def losses(cohort: Cohort, loss: Loss) -> Floats:
    """The loss of each scored item; 0 without a score."""
    return cohort.errors / ITEM_SCORES[-1] if loss is Loss.ABS_NORM else cohort.errors


def steps(cohort: Cohort, draws: Draws, *, confidences: Floats, loss: Loss) -> Iterator[Step]:
    """The steps over items with these confidences, a matrix as `Cohort.of_items` gives it; highest first.

    Nothing is kept of a step but what the next one needs: thousands of levels take no more memory than one.
    """
    participants, items = np.nonzero(cohort.is_scored)
    of_items = losses(cohort, loss)[participants, items]
    descending = -confidences[participants, items]
    order = np.argsort(descending, kind="stable")
    participants, of_items = participants[order], of_items[order]
    _, firsts = np.unique(descending[order], return_index=True)
    all_taken, all_lost = np.zeros((2, len(draws)))
    has_begun = False
    for first, end in pairwise([*firsts.tolist(), len(order)]):
        taken, lost = _of_level(draws, participants[first:end], of_items[first:end])
        all_taken, all_lost = all_taken + taken, all_lost + lost
        has_begun = has_begun or bool(all_taken.all())
        yield Step(taken, all_taken, all_lost, has_begun)


def population(draws: Draws) -> Floats:
    """N of each resample."""
    return np.asarray(ITEMS * draws.sum(axis=1))


class Areas:
    """The areas under both risks over coverage, built up step by step by trapezoids.

    AURC extends the first risk to coverage 0; AUGRC begins with risk 0 there. With `up_to` they end at that coverage,
    or at Cmax if lower, with the risk there interpolated linearly. Without scores they are None, since 0 would be the
    best possible area.
    """

    def __init__(self, population: Floats, *, up_to: float = 1.0) -> None:
        _refuse_outside(up_to, "up_to")
        self._population = population
        self._end = up_to * population if up_to < 1 else None
        self._items, self._lost, self._risk, self._of_risks, self._of_losses = np.zeros((5, len(population)))
        self._has_begun = False

    def add(self, step: Step) -> None:
        """The trapezoids between the step before and this one."""
        risk = step.selective_risk
        if not self._has_begun:
            self._risk = np.where(self._items == 0, risk, self._risk)
            self._has_begun = step.has_begun
        self._of_risks += self._trapezoid(step, self._risk, risk)
        self._of_losses += self._trapezoid(step, self._lost, step.losses)
        self._items, self._lost, self._risk = step.items, step.losses, risk

    def aurc(self) -> Floats:
        """The area under the selective risk."""
        return ratio(self._of_risks / 2, self._population_with_scores())

    def augrc(self) -> Floats:
        """The area under the generalised risk."""
        return ratio(self._of_losses / 2, self._population_with_scores() * self._population)

    def _trapezoid(self, step: Step, before: Floats, after: Floats) -> Floats:
        """Twice the area, in items."""
        if self._end is None:
            return np.asarray((before + after) * step.taken)
        width = np.minimum(step.items, self._end) - np.minimum(self._items, self._end)
        share = width / np.maximum(step.taken, 1)
        return np.asarray((before + before + (after - before) * share) * width)

    def _population_with_scores(self) -> Floats:
        return np.where(self._items > 0, self._population, 0.0)


def areas(cohort: Cohort, draws: Draws, *, confidence: Confidence, loss: Loss = Loss.ABS_NORM) -> dict[str, Floats]:
    """AURC and AUGRC, from one curve."""
    found = areas_under(cohort, draws, confidences=cohort.of_items(confidence), loss=loss)
    return {"aurc": found.aurc(), "augrc": found.augrc()}


def areas_under(cohort: Cohort, draws: Draws, *, confidences: Floats, loss: Loss) -> Areas:
    """The areas under the curve over items with these confidences, as `steps` takes them."""
    found = Areas(population(draws))
    for step in steps(cohort, draws, confidences=confidences, loss=loss):
        found.add(step)
    return found


def risks_reaching(curve: Iterable[Step], population: Floats, coverages: Sequence[float]) -> Floats:
    """The selective risk of the first step that reaches each of these ascending coverages; NaN beyond Cmax.

    One row per coverage, one column per resample.
    """
    for coverage in coverages:
        _refuse_outside(coverage, "coverage")
    risks = np.full((len(coverages), len(population)), np.nan)
    next_coverage = np.zeros(len(population), dtype=np.intp)
    limits = np.array([*coverages, np.inf])
    for step in curve:
        covered = step.items / population
        reached = np.flatnonzero(covered >= limits[next_coverage])
        if not len(reached):
            continue
        risk = step.selective_risk
        while len(reached):
            risks[next_coverage[reached], reached] = risk[reached]
            next_coverage[reached] += 1
            reached = reached[covered[reached] >= limits[next_coverage[reached]]]
    return risks


def risk_coverage_curve(
    cohort: Cohort, *, confidence: Confidence, loss: Loss = Loss.ABS_NORM
) -> tuple[RiskCoveragePoint, ...]:
    """The steps over the cohort, coverage up; none if nothing is scored."""
    confidences, once = cohort.of_items(confidence), everybody_once(cohort)
    (everything,) = population(once).tolist()
    levels = sorted(set(confidences[cohort.is_scored].tolist()), reverse=True)
    return tuple(
        RiskCoveragePoint(
            confidence=level,
            coverage=float(step.items[0]) / everything,
            selective_risk=float(step.selective_risk[0]),
            generalized_risk=float(step.losses[0]) / everything,
        )
        for level, step in zip(levels, steps(cohort, once, confidences=confidences, loss=loss), strict=True)
    )


def _of_level(draws: Draws, participants: NDArray[np.intp], of_items: Floats) -> tuple[Floats, Floats]:
    """How many items each resample takes of one level, and what it loses by them."""
    if len(participants) == 1:
        taken = draws[:, participants[0]]
        return taken, taken * of_items[0]
    if len(participants) < draws.shape[1] / 2:
        drawn = draws.T[participants]
        return drawn.sum(axis=0), of_items @ drawn
    counts = (np.bincount(participants, weights, minlength=draws.shape[1]) for weights in (None, of_items))
    taken, lost = (draws @ count.astype(np.float64) for count in counts)
    return taken, lost


def _refuse_outside(coverage: float, name: str) -> None:
    if not 0 < coverage <= 1:
        raise ValueError(f"{name} is {coverage:g}; give a coverage above 0 and at most 1.")
