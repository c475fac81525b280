"""The bootstrap of metrics over participants (Efron 1979): participants are resampled together with their items."""

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np

from schemas.values.metrics import Interval, PairedDelta
from stages.metrics.cohort import Cohort, Floats
from stages.metrics.draws import Draws, Metrics, everybody_once, known

RESAMPLES = 10_000
SEED = 42
LEVEL = 0.95
PERCENTILES = (2.5, 97.5)
"""Those of LEVEL."""
_ROUNDING = 1e-12


def bootstrap_all(
    metrics: Metrics, cohort: Cohort, *, resamples: int = RESAMPLES, seed: int = SEED
) -> dict[str, Interval]:
    """The metrics with their 95 % percentile intervals.

    If fewer than two resamples have a value, the interval is the value itself. A value of one participant has no
    interval, because all resamples that have the value have the same.
    """
    values = metrics(cohort, everybody_once(cohort))
    resampled = metrics(cohort, draw(len(cohort), resamples=resamples, seed=seed))
    found = {name: interval_of(known(float(value[0])), resampled[name]) for name, value in values.items()}
    return _without_those_of_one(found, lambda: metrics(cohort, np.eye(len(cohort))))


def paired_deltas(
    metrics: Metrics,
    left: Cohort,
    right: Cohort,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> dict[str, PairedDelta]:
    """right - left, over the participants of both; each resample draws the same participants for both."""
    ids = set(left.participant_ids) & set(right.participant_ids)
    left, right = (_only(cohort, ids) for cohort in (left, right))

    def differences(draws: Draws) -> dict[str, Floats]:
        of_left, of_right = metrics(left, draws), metrics(right, draws)
        return {name: of_right[name] - of_left[name] for name in of_left}

    values = [metrics(cohort, everybody_once(cohort)) for cohort in (left, right)]
    resampled = differences(draw(len(ids), resamples=resamples, seed=seed))
    sides = {name: [known(float(of[name][0])) for of in values] for name in resampled}
    deltas = {
        name: interval_of(None if before is None or after is None else after - before, resampled[name], level=level)
        for name, (before, after) in sides.items()
    }
    deltas = _without_those_of_one(deltas, lambda: differences(np.eye(len(ids))))
    return {
        name: PairedDelta(participants=len(ids), left=before, right=after, delta=deltas[name])
        for name, (before, after) in sides.items()
    }


@lru_cache(maxsize=1)
def draw(participants: int, *, resamples: int, seed: int) -> Draws:
    """The number of times that each participant is drawn, with replacement, in each resample; read-only.

    The last draws are kept, for the next metric of the same participants.

    The generator is numpy's RandomState, whose sequence is frozen, and each resample takes one number per participant
    from it. So a seed gives the same resamples as a plain loop over `randint`, in every version.

    >>> draw(3, resamples=2, seed=42).tolist()
    [[1.0, 0.0, 2.0], [2.0, 0.0, 1.0]]
    """
    if not participants:
        return np.zeros((resamples, 0))
    drawn = np.random.RandomState(seed).randint(0, participants, size=(resamples, participants))
    cells = drawn + participants * np.arange(resamples)[:, None]
    draws = np.bincount(cells.ravel(), minlength=cells.size).reshape(cells.shape).astype(np.float64)
    draws.flags.writeable = False
    return draws


def interval_of(value: float | None, resampled: Floats, *, level: float = LEVEL) -> Interval:
    """A value with the percentiles of the resampled values that leave out half of 1 - level on either side.

    NaN is a resample without a value.

    Without a value there is no interval, even if resamples have one: they reach a coverage that the cohort does not.
    """
    valid = resampled[~np.isnan(resampled)]
    if value is None or len(valid) < 2:
        low, high, std = value, value, None
    else:
        low, high = (known(float(bound)) for bound in np.percentile(valid, _percentiles(level)))
        std = float(np.std(valid, ddof=1))
    return Interval(
        value=value,
        low=low,
        high=high,
        std=std,
        drop_rate=1 - len(valid) / len(resampled),
        resamples=len(resampled),
    )


def _percentiles(level: float) -> tuple[float, float]:
    outside = 100 * (1 - level) / 2
    return round(outside, 9), round(100 - outside, 9)


def is_flat(interval: Interval) -> bool:
    """Whether the interval has no width but for rounding."""
    return interval.low is not None and interval.high is not None and interval.high - interval.low < _ROUNDING


def without_bounds(interval: Interval) -> Interval:
    """The value alone."""
    return interval.model_copy(update={"low": None, "high": None, "std": None})


def _without_those_of_one(
    found: Mapping[str, Interval], of_each: Callable[[], Mapping[str, Floats]]
) -> dict[str, Interval]:
    """No bounds where all resamples have one value because only one participant has any."""
    flat = [name for name, interval in found.items() if is_flat(interval)]
    alone = of_each() if flat else {}
    return {**found, **{name: without_bounds(found[name]) for name in flat if _of_one(alone[name])}}


def _of_one(of_each: Floats) -> bool:
    """Whether only one participant has a value, of the values of each participant without the others."""
    return bool(np.count_nonzero(~np.isnan(of_each)) == 1)


def _only(cohort: Cohort, ids: set[int]) -> Cohort:
    return Cohort(tuple(subject for subject in cohort.subjects if subject.participant_id in ids))
