"""The AURC with optimally chosen thresholds (Spec 052)."""

import numpy as np
from numpy.typing import NDArray

from stages.metrics.cohort import Floats
from stages.metrics.selective import Steps, area_under_selective_risk


def area_under_hull(curve: Steps) -> Floats:
    """The AURC over only those steps that are on the lower convex hull of all steps."""
    hulls, sizes = lower_hulls(curve.coverage, curve.selective_risk, curve.coverage > 0)
    areas = np.full(len(sizes), np.nan)
    for size in np.unique(sizes[sizes > 0]):
        x, y = hulls[:, :size, sizes == size].transpose(0, 2, 1)
        areas[sizes == size] = area_under_selective_risk(Steps(x, y, y))
    return areas


def lower_hulls(x: Floats, y: Floats, is_point: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.intp]]:
    """In each row the points, in ascending order of x, below which no line between two others passes (Andrew 1979).

    Returns x and y of the hulls, by position in the hull and row, and the number of points in each hull.

    >>> hulls, sizes = lower_hulls(np.array([[0, 1, 2, 3]]), np.array([[0, 2, 1, 3]]), np.ones((1, 4), dtype=bool))
    >>> hulls[:, : sizes[0], 0].T.tolist()
    [[0.0, 0.0], [2.0, 1.0], [3.0, 3.0]]
    """
    rows, points = x.shape
    hulls, sizes = np.zeros((2, points, rows)), np.zeros(rows, dtype=np.intp)
    for at in range(points):
        (adding,) = np.nonzero(is_point[:, at])
        last = adding[sizes[adding] >= 2]
        while len(last):
            a, b = hulls[:, sizes[last] - 2, last], hulls[:, sizes[last] - 1, last]
            c = np.stack([x[last, at], y[last, at]])
            turns_left = (b[0] - a[0]) * (c[1] - a[1]) > (b[1] - a[1]) * (c[0] - a[0])
            last = last[~turns_left]
            sizes[last] -= 1
            last = last[sizes[last] >= 2]
        hulls[0, sizes[adding], adding], hulls[1, sizes[adding], adding] = x[adding, at], y[adding, at]
        sizes[adding] += 1
    return hulls, sizes
