"""The bootstrap of metrics over participants (Efron 1979): participants are resampled together with their items."""

import numpy as np

from schemas.values.metrics import Interval, PairedDelta
from stages.metrics.cohort import Cohort, Floats
from stages.metrics.draws import Draws, Metric, known, value_of

RESAMPLES = 10_000
SEED = 42
LEVEL = 0.95
PERCENTILES = (2.5, 97.5)
"""Those of LEVEL."""
_ROUNDING = 1e-12


def bootstrap(metric: Metric, cohort: Cohort, *, resamples: int = RESAMPLES, seed: int = SEED) -> Interval:
    """The metric with its 95 % percentile interval.

    If fewer than two resamples have a value, the interval is the value itself. A value of one participant has no
    interval, because all resamples that have the value have the same.
    """
    found = interval_of(value_of(metric, cohort), metric(cohort, draw(len(cohort), resamples=resamples, seed=seed)))
    return without_bounds(found) if is_flat(found) and _of_one(metric(cohort, np.eye(len(cohort)))) else found


def paired_delta(
    metric: Metric,
    left: Cohort,
    right: Cohort,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> PairedDelta:
    """right - left, over the participants of both; each resample draws the same participants for both."""
    ids = set(left.participant_ids) & set(right.participant_ids)
    left, right = (_only(cohort, ids) for cohort in (left, right))
    draws = draw(len(ids), resamples=resamples, seed=seed)
    values = value_of(metric, left), value_of(metric, right)
    delta = None if values[0] is None or values[1] is None else values[1] - values[0]
    found = interval_of(delta, metric(right, draws) - metric(left, draws), level=level)
    each = np.eye(len(ids))
    is_of_one = is_flat(found) and _of_one(metric(right, each) - metric(left, each))
    return PairedDelta(
        participants=len(ids),
        left=values[0],
        right=values[1],
        delta=without_bounds(found) if is_of_one else found,
    )


def draw(participants: int, *, resamples: int, seed: int) -> Draws:
    """The number of times that each participant is drawn, with replacement, in each resample.

    The generator is numpy's RandomState, whose sequence is frozen, and each resample takes one number per participant
    from it. So a seed gives the same resamples as a plain loop over `randint`, in every version.

    >>> draw(3, resamples=2, seed=42).tolist()
    [[1.0, 0.0, 2.0], [2.0, 0.0, 1.0]]
    """
    if not participants:
        return np.zeros((resamples, 0))
    drawn = np.random.RandomState(seed).randint(0, participants, size=(resamples, participants))
    cells = drawn + participants * np.arange(resamples)[:, None]
    return np.bincount(cells.ravel(), minlength=cells.size).reshape(cells.shape).astype(np.float64)


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


def _of_one(of_each: Floats) -> bool:
    """Whether only one participant has a value, of the values of each participant without the others."""
    return bool(np.count_nonzero(~np.isnan(of_each)) == 1)


def _only(cohort: Cohort, ids: set[int]) -> Cohort:
    return Cohort(tuple(subject for subject in cohort.subjects if subject.participant_id in ids))
