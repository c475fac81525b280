"""Means and shares over queries with their intervals: queries are resampled together with their results."""

from collections.abc import Sequence

import numpy as np

from schemas.values.metrics import Interval
from stages.metrics.bootstrap import LEVEL, draw, interval_of, without_bounds
from stages.metrics.cohort import Floats
from stages.metrics.draws import known, ratio


def mean_intervals(
    rows: Sequence[Sequence[float]], *, columns: int, resamples: int, seed: int, level: float = LEVEL
) -> tuple[Interval, ...]:
    """The mean of each column with its interval, over one row per query.

    Without rows there is no value, and no interval with one.
    """
    values = np.array(rows, dtype=np.float64).reshape(len(rows), columns)
    draws = draw(len(rows), resamples=resamples, seed=seed)
    resampled = ratio(draws @ values, np.full(columns, float(len(rows))))
    means = ratio(values.sum(axis=0), np.full(columns, float(len(rows))))
    found = (interval_of(known(float(mean)), resampled[:, column], level=level) for column, mean in enumerate(means))
    return tuple(without_bounds(interval) if len(rows) == 1 else interval for interval in found)


def share_interval(parts: Sequence[float], wholes: Sequence[float], *, resamples: int, seed: int) -> Interval:
    """The sum of the parts over that of the wholes, one of each per query.

    There is no value if the wholes are 0, and no interval if only one is not.
    """
    part, whole = (np.array(counts, dtype=np.float64) for counts in (parts, wholes))
    draws = draw(len(part), resamples=resamples, seed=seed)
    share: Floats = ratio(np.atleast_1d(part.sum()), np.atleast_1d(whole.sum()))
    found = interval_of(known(float(share[0])), ratio(draws @ part, draws @ whole))
    return without_bounds(found) if np.count_nonzero(whole) == 1 else found
