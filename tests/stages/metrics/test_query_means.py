"""Means over queries and their intervals."""

import random
from statistics import mean, quantiles

import pytest

from stages.metrics.bootstrap import mean_intervals, share_interval


def test_each_column_has_its_mean() -> None:
    first, second = mean_intervals([[0.0, 1.0], [1.0, 1.0]], columns=2, resamples=200, seed=42)

    assert (first.value, first.low, first.high) == (0.5, 0.0, 1.0)
    assert (second.value, second.low, second.high) == (1.0, 1.0, 1.0)


def test_the_interval_is_that_of_means_over_drawn_queries() -> None:
    values = [0.0, 0.2, 0.2, 0.5, 0.9, 1.0, 1.0, 0.4]
    generator = random.Random(1)
    drawn = [mean(generator.choices(values, k=len(values))) for _ in range(20_000)]
    bounds = quantiles(drawn, n=40)

    (found,) = mean_intervals([[value] for value in values], columns=1, resamples=10_000, seed=42)

    assert found.value == pytest.approx(mean(values))
    assert (found.low, found.high) == pytest.approx((bounds[0], bounds[-1]), abs=0.02)


def test_a_share_is_over_all_queries_together() -> None:
    found = share_interval([1, 0], [1, 3], resamples=500, seed=42)

    assert (found.value, found.low, found.high) == (0.25, 0.0, 1.0)
