"""The bootstrap of metrics over participants (Efron 1979): participants are resampled together with their items."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from schemas.values.differences import ComparedMeasure, Measures, RetrievalMeasures
from schemas.values.scoring import LEAST as LEAST
from schemas.values.scoring import Interval
from stages.metrics.scores import Cohort, Draws, Floats, Metrics, everybody_once, known, ratio

LEVEL = 0.95
_KEPT = 128_000_000
"""How many draws are kept for the next metric, one byte each: all resamples of 12,800 participants."""
_IN_USE = 300_000
"""How many are drawn and in use at a time: counting them takes 24 bytes each."""

Counts: TypeAlias = NDArray[np.uint8]
"""Draws, one row per participant. A byte is enough: that a resample draws somebody 256 times has a chance of 1e-500."""

Key = TypeVar("Key", bound=Hashable)


def bootstrap_all(metrics: Metrics, cohort: Cohort, measures: Measures) -> dict[str, Interval]:
    """The metrics with their 95 % percentile intervals. If fewer than two resamples have a value, the interval is the
    value itself. A value of fewer than LEAST participants has no interval."""
    around = resampled(partial(metrics, cohort), len(cohort), measures)
    alone = metrics(cohort, np.eye(len(cohort)))
    return {
        name: interval_of(known(float(value[0])), around[name], is_of_few=_are_few(alone[name]))
        for name, value in metrics(cohort, everybody_once(cohort)).items()
    }


def paired_deltas(
    metrics: Metrics, left: Cohort, right: Cohort, measures: Measures, *, level: float = LEVEL
) -> dict[str, ComparedMeasure]:
    """The right beside the left, which is the baseline, over the participants of both; each resample draws the same
    participants for both. The corrected intervals have this level of confidence."""
    ids = set.intersection(*({one.participant_id for one in cohort.subjects} for cohort in (left, right)))
    left, right = (
        Cohort(tuple(one for one in cohort.subjects if one.participant_id in ids)) for cohort in (left, right)
    )

    def differences(draws: Draws) -> dict[str, Floats]:
        of_left, of_right = metrics(left, draws), metrics(right, draws)
        return {name: of_right[name] - of_left[name] for name in of_left}

    values = [metrics(cohort, everybody_once(cohort)) for cohort in (left, right)]
    around, alone = resampled(differences, len(ids), measures), differences(np.eye(len(ids)))
    found = {}
    for name, resamples in around.items():
        before, after = (known(float(of[name][0])) for of in values)
        delta = None if before is None or after is None else after - before
        plain, corrected = (
            interval_of(delta, resamples, level=one, is_of_few=_are_few(alone[name])) for one in (LEVEL, level)
        )
        found[name] = ComparedMeasure(subjects=len(ids), baseline=before, value=after, delta=plain, corrected=corrected)
    return found


def resampled(
    values: Callable[[Draws], Mapping[Key, Floats]], participants: int, measures: Measures | RetrievalMeasures
) -> dict[Key, Floats]:
    """What `values` gives for each resample, with the draws in memory in part where there are many. The generator is
    numpy's RandomState, whose sequence is frozen, and each resample takes one number per participant from it. So a seed
    gives the same resamples as a plain loop over `randint`, in every version."""
    drawn = draw(participants, resamples=measures.bootstrap_resamples, seed=measures.bootstrap_seed)
    first, *others = map(values, drawn)
    return {name: np.concatenate([found, *(other[name] for other in others)]) for name, found in first.items()}


def draw(participants: int, *, resamples: int, seed: int) -> Iterator[Draws]:
    """The number of times that each participant is drawn, with replacement, in each resample; in blocks of resamples.

    >>> [block.tolist() for block in draw(3, resamples=2, seed=42)]
    [[[1.0, 0.0, 2.0], [2.0, 0.0, 1.0]]]
    """
    kept = participants * resamples <= _KEPT
    for counts in (_all_counts if kept else _counts)(participants, resamples, seed):
        yield counts.T.astype(np.float64)


@lru_cache(maxsize=1)
def _all_counts(participants: int, resamples: int, seed: int) -> tuple[Counts, ...]:
    return tuple(_counts(participants, resamples, seed))


def _counts(participants: int, resamples: int, seed: int) -> Iterator[Counts]:
    """Each participant's draws are side by side in memory, since a step of a curve is made of those of a few."""
    generator, at_a_time = np.random.RandomState(seed), max(_IN_USE // max(participants, 1), 1)
    for done in range(0, resamples, at_a_time):
        length = min(at_a_time, resamples - done)
        drawn = generator.randint(0, max(participants, 1), size=(length, participants))
        cells = drawn * length + np.arange(length)[:, None]
        yield np.bincount(cells.ravel(), minlength=cells.size).astype(np.uint8).reshape(participants, length)


def interval_of(value: float | None, around: Floats, *, is_of_few: bool, level: float = LEVEL) -> Interval:
    """A value with the percentiles of the resampled values that leave out half of 1 - level on either side. NaN is a
    resample without a value. A value of few has no interval, and neither has none, even if resamples have one: they
    reach a coverage that the cohort does not."""
    valid = around[~np.isnan(around)]
    low, high, std = value, value, None
    if is_of_few:
        low = high = None
    elif value is not None and len(valid) >= 2:
        outside = round(100 * (1 - level) / 2, 9)
        low, high = map(float, np.percentile(valid, [outside, round(100 - outside, 9)]))
        std = float(np.std(valid, ddof=1))
    return Interval(
        value=value, low=low, high=high, std=std, drop_rate=1 - len(valid) / len(around), resamples=len(around)
    )


def _are_few(alone: Floats) -> bool:
    """Whether fewer than LEAST participants are there, or have a value without the others; none has a correlation."""
    known_of = int(np.count_nonzero(~np.isnan(alone)))
    return len(alone) < LEAST or 0 < known_of < LEAST


def mean_intervals(
    rows: Sequence[Sequence[float]],
    measures: Measures | RetrievalMeasures,
    *,
    columns: int,
    level: float = LEVEL,
    wholes: Sequence[float] | None = None,
) -> tuple[Interval, ...]:
    """The mean of each column with its interval, over one row per query; with `wholes` its sum over that of these.
    There is no value without rows or if the wholes are 0, and no interval if fewer than LEAST are not."""
    parts = np.array(rows, dtype=np.float64).reshape(len(rows), columns)
    of = np.ones(len(rows)) if wholes is None else np.array(wholes, dtype=np.float64)

    def shares(draws: Draws) -> dict[int, Floats]:
        return dict(enumerate(ratio(draws @ parts, (draws @ of)[:, None]).T))

    here, around = shares(np.ones((1, len(rows)))), resampled(shares, len(rows), measures)
    is_of_few = bool(np.count_nonzero(of) < LEAST)
    return tuple(
        interval_of(known(float(here[column][0])), around[column], level=level, is_of_few=is_of_few)
        for column in range(columns)
    )


def share_interval(parts: Sequence[float], wholes: Sequence[float], measures: RetrievalMeasures) -> Interval:
    """The sum of the parts over that of the wholes, one of each per query."""
    (found,) = mean_intervals([[part] for part in parts], measures, columns=1, wholes=wholes)
    return found
