"""The AURC with optimally chosen thresholds (Spec 052)."""

import numpy as np

from stages.metrics.cohort import Cohort, Floats
from stages.metrics.confidence import Confidence
from stages.metrics.draws import Draws
from stages.metrics.selective import Loss, Steps, area_under_selective_risk, steps

Point = tuple[float, float]
"""A coverage and a risk."""


def aurc_achievable(cohort: Cohort, draws: Draws, *, confidence: Confidence, loss: Loss = Loss.ABS_NORM) -> Floats:
    """The AURC over only those steps that are on the lower convex hull of all steps.

    Processes the resamples one by one: 10,000 of them take seconds, far longer than other metrics.
    """
    curve = steps(cohort, draws, confidences=cohort.of_items(confidence), loss=loss)
    return np.array([_area_over_hull(*row) for row in zip(curve.coverage, curve.selective_risk, strict=True)])


def lower_hull(points: list[Point]) -> list[Point]:
    """The points below which no line between two others passes, from left to right (Andrew 1979).

    >>> lower_hull([(0, 0), (1, 2), (2, 1), (3, 3)])
    [(0, 0), (2, 1), (3, 3)]
    """
    hull: list[Point] = []
    for point in sorted(points):
        while len(hull) >= 2 and not _turns_left(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _turns_left(a: Point, b: Point, c: Point) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) > (b[1] - a[1]) * (c[0] - a[0])


def _area_over_hull(coverage: Floats, risk: Floats) -> float:
    reached = coverage > 0
    hull = np.array(lower_hull(list(zip(coverage[reached].tolist(), risk[reached].tolist(), strict=True))))
    if not len(hull):
        return float("nan")
    rows = hull.T[:, None, :]
    return float(area_under_selective_risk(Steps(rows[0], rows[1], rows[1]))[0])
