"""Means and shares over queries with their intervals: queries are resampled together with their results."""

from collections.abc import Sequence

import numpy as np

from schemas.values.metrics import Interval
from stages.metrics import bootstrap
from stages.metrics.bootstrap import LEVEL, interval_of, resampled, without_bounds
from stages.metrics.cohort import Floats
from stages.metrics.draws import Draws, known, ratio


def mean_intervals(
    rows: Sequence[Sequence[float]], *, columns: int, resamples: int, seed: int, level: float = LEVEL
) -> tuple[Interval, ...]:
    """The mean of each column with its interval, over one row per query.

    Without rows there is no value, and no interval with fewer than LEAST.
    """
    values = np.array(rows, dtype=np.float64).reshape(len(rows), columns)

    def means(draws: Draws) -> dict[int, Floats]:
        return dict(enumerate(ratio(draws @ values, np.full(columns, float(len(rows)))).T))

    here, around = means(np.ones((1, len(rows)))), resampled(means, len(rows), resamples=resamples, seed=seed)
    found = (interval_of(known(float(here[column][0])), around[column], level=level) for column in range(columns))
    return tuple(without_bounds(interval) if len(rows) < bootstrap.LEAST else interval for interval in found)


def share_interval(parts: Sequence[float], wholes: Sequence[float], *, resamples: int, seed: int) -> Interval:
    """The sum of the parts over that of the wholes, one of each per query.

    There is no value if the wholes are 0, and no interval if fewer than LEAST are not.
    """
    part, whole = (np.array(counts, dtype=np.float64) for counts in (parts, wholes))

    def share(draws: Draws) -> dict[None, Floats]:
        return {None: ratio(draws @ part, draws @ whole)}

    here, around = share(np.ones((1, len(part)))), resampled(share, len(part), resamples=resamples, seed=seed)
    found = interval_of(known(float(here[None][0])), around[None])
    return without_bounds(found) if np.count_nonzero(whole) < bootstrap.LEAST else found
