"""Selective prediction (Spec 25): how the risk grows as less confident items are included.

The population is every item of every successful participant, N = 8 x participants. Scored items are taken by
confidence, highest first; items of equal confidence are taken together, in one step. A step has a coverage, k / N,
a selective risk, sum of losses / k, and a generalised risk, sum of losses / N. The curve ends at Cmax.
AURC: Geifman and El-Yaniv 2017. AUGRC: Traub et al. 2024 (arXiv 2407.01032).
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import ir_measures
import numpy as np
from ir_measures import RR, P, R, nDCG
from numpy.typing import NDArray

from schemas.values.differences import Measures
from schemas.values.participants import ITEM_SCORES
from schemas.values.scoring import RiskCoveragePoint
from stages.metrics.confidence import Confidence
from stages.metrics.scores import ITEMS, Cohort, Draws, Floats, everybody_once, ratio


class Curve(NamedTuple):
    """The steps of a curve, a row for each level of confidence, highest first, and a column for each resample.

    A resample without an item of a level repeats the step before. The first row is the curve before its first step.
    """

    items: Floats
    """Items of this level and of all higher ones."""
    losses: Floats
    """The sum of their losses."""
    risks: Floats
    """The selective risks; before the first item that of its level."""
    population: Floats
    """N of each resample."""


def losses(cohort: Cohort, loss: str) -> Floats:
    """The loss of each scored item, |score - truth|, as `abs_norm` a third of it; 0 without a score."""
    return cohort.errors / ITEM_SCORES[-1] if loss == "abs_norm" else cohort.errors


def curve_of(cohort: Cohort, draws: Draws, *, confidences: Floats, loss: str) -> Curve:
    """The curve over items with these confidences, a matrix as `Cohort.of_items` gives it."""
    from scipy.sparse import coo_array  # type: ignore[import-untyped]  # Loads slowly.

    participants, items = np.nonzero(cohort.is_scored)
    levels, level = np.unique(-confidences[participants, items], return_inverse=True)

    def taken(of_items: Floats) -> Floats:
        """The sums over the items up to each level."""
        of_levels = coo_array((of_items, (level + 1, participants)), (len(levels) + 1, len(cohort))).tocsr() @ draws.T
        for before, row in pairwise(of_levels):
            row += before
        return np.asarray(of_levels)

    counts, lost = taken(np.ones(len(level))), taken(losses(cohort, loss)[participants, items])
    risks = lost / np.maximum(counts, 1)
    first = np.take_along_axis(risks, np.argmax(counts > 0, axis=0)[None], axis=0)
    return Curve(counts, lost, np.where(counts > 0, risks, first), ITEMS * draws.sum(axis=1))


def areas_under(curve: Curve, *, up_to: float = 1.0) -> tuple[Floats, Floats]:
    """AURC and AUGRC, by trapezoids.

    AURC extends the first risk to coverage 0; AUGRC begins with risk 0 there. With `up_to` they end at that coverage,
    or at Cmax if lower, with the risk there interpolated linearly. Without scores they are NaN, since 0 would be the
    best possible area.
    """
    taken = np.diff(curve.items, axis=0)
    width = taken if up_to == 1 else np.diff(np.minimum(curve.items, up_to * curve.population), axis=0)

    def area(heights: Floats) -> Floats:
        before, after = heights[:-1], heights[1:]
        ends = after if up_to == 1 else before + (after - before) * width / np.maximum(taken, 1)
        return np.asarray(np.einsum("ij,ij->j", before + ends, width) / 2)

    population = np.where(curve.items[-1] > 0, curve.population, 0.0)
    return ratio(area(curve.risks), population), ratio(area(curve.losses), population * curve.population)


def areas(cohort: Cohort, draws: Draws, *, confidence: Confidence, loss: str) -> dict[str, Floats]:
    """AURC and AUGRC, from one curve."""
    aurc, augrc = areas_under(curve_of(cohort, draws, confidences=cohort.of_items(confidence), loss=loss))
    return {"aurc": aurc, "augrc": augrc}


def risks_reaching(curve: Curve, coverages: Sequence[float]) -> Floats:
    """The selective risk of the first step that reaches each of these coverages, a row each; NaN beyond Cmax."""
    covered = np.ascontiguousarray((curve.items / np.maximum(curve.population, 1)).T)
    steps = np.array([np.searchsorted(of_resample, coverages) for of_resample in covered], dtype=np.intp)
    beyond = np.full((1, len(covered)), np.nan)
    at = steps.reshape(len(covered), len(coverages)).T
    return np.asarray(np.take_along_axis(np.vstack([curve.risks, beyond]), at, axis=0))


def risk_coverage_curve(cohort: Cohort, *, confidence: Confidence, loss: str) -> tuple[RiskCoveragePoint, ...]:
    """The steps over the cohort, coverage up; none if nothing is scored."""
    confidences = cohort.of_items(confidence)
    curve = curve_of(cohort, everybody_once(cohort), confidences=confidences, loss=loss)
    (everything,) = curve.population.tolist()
    levels = sorted(set(confidences[cohort.is_scored].tolist()), reverse=True)
    steps = zip(levels, curve.items[1:, 0].tolist(), curve.losses[1:, 0].tolist(), strict=True)
    return tuple(
        RiskCoveragePoint(
            confidence=level,
            coverage=items / everything,
            selective_risk=lost / items,
            generalized_risk=lost / everything,
        )
        for level, items, lost in steps
    )


def area_under_hull(curve: Curve) -> Floats:
    """The AURC over only those steps that are on the lower convex hull of all steps."""
    (x, y), sizes = lower_hulls(curve.items[1:], curve.risks[1:], np.diff(curve.items, axis=0) > 0)
    if not len(x):
        return np.full(len(curve.population), np.nan)
    area = 2 * x[0] * y[0]
    for at in range(1, int(sizes.max())):
        area += np.where(at < sizes, (x[at] - x[at - 1]) * (y[at] + y[at - 1]), 0.0)
    return ratio(area / 2, np.where(sizes > 0, curve.population, 0.0))


def lower_hulls(xs: Floats, ys: Floats, are_points: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.intp]]:
    """The points of each resample below which no line between two others passes (Andrew 1979), and how many it has.

    Points are given by row in ascending order of x, with a column for each resample, and which resamples have them.
    They are found as x and y in the same form. Behind the last point of a hull are whatever points it passed over.

    >>> x, y = np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [2.0], [1.0]])
    >>> hulls, sizes = lower_hulls(x, y, x >= 0)
    >>> hulls[:, : sizes[0], 0].tolist()
    [[0.0, 2.0], [0.0, 1.0]]
    """
    hulls, sizes = np.zeros((2, *xs.shape)), np.zeros(xs.shape[1], dtype=np.intp)
    for x, y, is_point in zip(xs, ys, are_points, strict=True):
        adding = np.flatnonzero(is_point)
        last = adding[sizes[adding] >= 2]
        while len(last):
            a, b = hulls[:, sizes[last] - 2, last], hulls[:, sizes[last] - 1, last]
            turns_left = (b[0] - a[0]) * (y[last] - a[1]) > (b[1] - a[1]) * (x[last] - a[0])
            last = last[~turns_left]
            sizes[last] -= 1
            last = last[sizes[last] >= 2]
        hulls[0, sizes[adding], adding], hulls[1, sizes[adding], adding] = x[adding], y[adding]
        sizes[adding] += 1
    return hulls, sizes


# The oracle takes items one by one, also those of equal loss.


def aurc_optimal(cohort: Cohort, draws: Draws, *, loss: str) -> Floats:
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


def augrc_optimal(cohort: Cohort, draws: Draws, *, loss: str) -> Floats:
    """The AUGRC of the oracle. Among equal losses this risk grows linearly, so one step each gives the same area."""
    return areas_under(curve_of(cohort, draws, confidences=-losses(cohort, loss), loss=loss))[1]


def curve_metrics(cohort: Cohort, draws: Draws, *, confidence: Confidence, measures: Measures) -> dict[str, Floats]:
    """The areas, of which the truncated ones end at `area_coverage`, and the risks at the grid of coverages, named
    `0.25`.

    The excess is the area above the optimal one: that of AURC can be slightly negative for ties, that of AUGRC only by
    rounding.
    """
    curve = curve_of(cohort, draws, confidences=cohort.of_items(confidence), loss=measures.loss)
    aurc, augrc = areas_under(curve)
    aurc_truncated, augrc_truncated = areas_under(curve, up_to=measures.area_coverage)
    best_aurc, best_augrc = (best(cohort, draws, loss=measures.loss) for best in (aurc_optimal, augrc_optimal))
    names = map("{:g}".format, measures.coverage_grid)
    return {
        "aurc": aurc,
        "aurc_optimal": best_aurc,
        "aurc_achievable": area_under_hull(curve),
        "excess_aurc": aurc - best_aurc,
        "aurc_truncated": aurc_truncated,
        "augrc": augrc,
        "augrc_optimal": best_augrc,
        "excess_augrc": augrc - best_augrc,
        "augrc_truncated": augrc_truncated,
        **dict(zip(names, risks_reaching(curve, measures.coverage_grid), strict=True)),
    }


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
    """Every measure of every ranking, by query. An empty ranking has 0 in all. Computed by trec_eval through
    ir-measures: nDCG with the relevance itself as gain, and recall at the cutoff and over the whole ranking. Each query
    needs a relevant document; documents without a judgement are not relevant."""
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
