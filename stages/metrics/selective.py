"""Selective prediction (Spec 25): how the risk grows as less confident items are included.

The population is every item of every successful participant, N = 8 x participants. Scored items are taken by
confidence, highest first; items of equal confidence are taken together, in one step. A step has a coverage, k / N,
a selective risk, sum of losses / k, and a generalised risk, sum of losses / N. The curve ends at Cmax.
AURC: Geifman and El-Yaniv 2017. AUGRC: Traub et al. 2024 (arXiv 2407.01032).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import ir_measures
import numpy as np
from ir_measures import RR, P, R, nDCG
from numpy.typing import NDArray

from schemas.values.participants import ITEM_SCORES
from schemas.values.scoring import BandPoint, RiskCoveragePoint
from stages.metrics import bootstrap
from stages.metrics.bootstrap import RESAMPLES, SEED, bounds_of, resampled
from stages.metrics.confidence import Confidence
from stages.metrics.scores import ITEMS, Cohort, Draws, Floats, everybody_once, ratio


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


class Hulls(NamedTuple):
    """The lower convex hull of each resample, by position in the hull (row) and resample (column).

    Behind the last point of a hull are whatever points it passed over.
    """

    x: Floats
    y: Floats
    sizes: NDArray[np.intp]
    """How many points each hull has."""


def area_under_hull(curve: Iterable[Step], population: Floats) -> Floats:
    """The AURC over only those steps that are on the lower convex hull of all steps."""
    hulls = lower_hulls(((step.items, step.selective_risk, step.taken > 0) for step in curve), len(population))
    if not len(hulls.x):
        return np.full(len(population), np.nan)
    area = 2 * hulls.x[0] * hulls.y[0]
    for at in range(1, int(hulls.sizes.max())):
        width, heights = hulls.x[at] - hulls.x[at - 1], hulls.y[at] + hulls.y[at - 1]
        area += np.where(at < hulls.sizes, width * heights, 0.0)
    return ratio(area / 2, np.where(hulls.sizes > 0, population, 0.0))


def lower_hulls(points: Iterable[tuple[Floats, Floats, NDArray[np.bool_]]], resamples: int) -> Hulls:
    """The points of each resample below which no line between two others passes (Andrew 1979).

    Points are given in ascending order of x, one of each resample at a time: x, y, and which resamples have it.

    >>> line = ((np.array([x]), np.array([y]), np.array([True])) for x, y in ((0.0, 0.0), (1.0, 2.0), (2.0, 1.0)))
    >>> hulls = lower_hulls(line, 1)
    >>> hulls.x[: hulls.sizes[0], 0].tolist(), hulls.y[: hulls.sizes[0], 0].tolist()
    ([0.0, 2.0], [0.0, 1.0])
    """
    hulls, sizes = np.zeros((2, 0, resamples)), np.zeros(resamples, dtype=np.intp)
    for x, y, is_point in points:
        adding = np.flatnonzero(is_point)
        last = adding[sizes[adding] >= 2]
        while len(last):
            a, b = hulls[:, sizes[last] - 2, last], hulls[:, sizes[last] - 1, last]
            turns_left = (b[0] - a[0]) * (y[last] - a[1]) > (b[1] - a[1]) * (x[last] - a[0])
            last = last[~turns_left]
            sizes[last] -= 1
            last = last[sizes[last] >= 2]
        if sizes.max(initial=0) == hulls.shape[1]:
            hulls = np.concatenate([hulls, np.zeros((2, hulls.shape[1] + 1, resamples))], axis=1)
        hulls[0, sizes[adding], adding], hulls[1, sizes[adding], adding] = x[adding], y[adding]
        sizes[adding] += 1
    return Hulls(hulls[0], hulls[1], sizes)


# The oracle takes items one by one, also those of equal loss.


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


def curve_metrics(
    cohort: Cohort,
    draws: Draws,
    *,
    confidence: Confidence,
    loss: Loss = Loss.ABS_NORM,
    up_to: float = 1.0,
    coverages: Sequence[float] = (),
) -> dict[str, Floats]:
    """The areas, of which the truncated ones end at `up_to`, and the risks at ascending coverages, named `0.25`.

    The excess is the area above the optimal one: that of AURC can be slightly negative for ties, that of AUGRC only by
    rounding.
    """
    curve = partial(steps, cohort, draws, confidences=cohort.of_items(confidence), loss=loss)
    everything = population(draws)
    whole, truncated = Areas(everything), Areas(everything, up_to=up_to)
    for step in curve():
        whole.add(step)
        truncated.add(step)
    best_aurc, best_augrc = aurc_optimal(cohort, draws, loss=loss), augrc_optimal(cohort, draws, loss=loss)
    return {
        "aurc": whole.aurc(),
        "aurc_optimal": best_aurc,
        "aurc_achievable": area_under_hull(curve(), everything),
        "excess_aurc": whole.aurc() - best_aurc,
        "aurc_truncated": truncated.aurc(),
        "augrc": whole.augrc(),
        "augrc_optimal": best_augrc,
        "excess_augrc": whole.augrc() - best_augrc,
        "augrc_truncated": truncated.augrc(),
        **dict(zip(map("{:g}".format, coverages), risks_reaching(curve(), everything, coverages), strict=True)),
    }


def risk_band(
    cohort: Cohort,
    *,
    confidence: Confidence,
    coverages: Sequence[float],
    loss: Loss = Loss.ABS_NORM,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[BandPoint, ...]:
    """The band at those of ascending coverages that the cohort reaches; the risk is that of the first step to reach it.

    A resample that ends before a coverage does not count there. Near Cmax this is about half of them. There is no band
    around the scores of fewer than LEAST participants.
    """
    if np.count_nonzero(cohort.scored_items) < bootstrap.LEAST:
        return ()
    confidences = cohort.of_items(confidence)

    def risks(draws: Draws) -> dict[float, Floats]:
        curve = steps(cohort, draws, confidences=confidences, loss=loss)
        return dict(zip(coverages, risks_reaching(curve, population(draws), coverages), strict=True))

    here, around = risks(everybody_once(cohort)), resampled(risks, len(cohort), resamples=resamples, seed=seed)
    band = []
    for coverage in coverages:
        (risk,), reaching = here[coverage], around[coverage][~np.isnan(around[coverage])]
        if not np.isnan(risk) and len(reaching):
            low, high = bounds_of(reaching)
            band.append(BandPoint(coverage=coverage, risk=float(risk), low=low, high=high))
    return tuple(band)


WHOLE = 1000
"""More documents than any ranking of ragq has."""


def measure_names(cutoff: int) -> tuple[str, ...]:
    """The measures of `measure_rankings`, in their order.

    >>> measure_names(10)
    ('ndcg@10', 'recall@10', 'mrr@10', 'p@10', 'recall')
    """
    return (f"ndcg@{cutoff}", f"recall@{cutoff}", f"mrr@{cutoff}", f"p@{cutoff}", "recall")


def measure_rankings(
    rankings: Mapping[str, Sequence[str]], relevance: Mapping[str, Mapping[str, int]], *, cutoff: int
) -> dict[str, dict[str, float]]:
    """Every measure of every ranking, by query. An empty ranking has 0 in all.

    Computed by trec_eval through ir-measures: nDCG with the relevance itself as gain, and recall at the cutoff and over
    the whole ranking. Each query needs a relevant document; documents without a judgement are not relevant.
    """
    asked = (nDCG @ cutoff, R @ cutoff, RR @ cutoff, P @ cutoff, R @ WHOLE)
    names = dict(zip(asked, measure_names(cutoff), strict=True))
    judged = {
        query: {document: max(0, relevance[query][document]) for document in relevance[query]} for query in rankings
    }
    # Descending scores without ties: trec_eval orders by score, and would order ties by name.
    scored = {
        query: {document: float(-rank) for rank, document in enumerate(documents)}
        for query, documents in rankings.items()
    }
    found: dict[str, dict[str, float]] = {query: {} for query in rankings}
    for metric in ir_measures.iter_calc(asked, judged, scored):
        found[metric.query_id][names[metric.measure]] = metric.value
    return {query: {name: measures[name] for name in names.values()} for query, measures in found.items()}
