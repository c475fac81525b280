"""The AURC with optimally chosen thresholds (Spec 052)."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stages.metrics.cohort import Floats
from stages.metrics.draws import ratio
from stages.metrics.selective import Step


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
