"""Means over queries and their intervals."""

import random
from statistics import mean, quantiles

import pytest

from stages.metrics.query_means import mean_intervals, share_interval


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


def test_one_query_has_no_interval() -> None:
    (mean_of_one,) = mean_intervals([[0.5]], columns=1, resamples=20, seed=42)
    share_of_one = share_interval([0, 1], [0, 2], resamples=20, seed=42)

    assert (mean_of_one.value, mean_of_one.low, mean_of_one.high) == (0.5, None, None)
    assert (share_of_one.value, share_of_one.low, share_of_one.high) == (0.5, None, None)


def test_the_mean_of_no_query_is_not_known() -> None:
    (found,) = mean_intervals([], columns=1, resamples=20, seed=42)

    assert (found.value, found.low, found.drop_rate) == (None, None, 1.0)


def test_a_share_is_over_all_queries_together() -> None:
    found = share_interval([1, 0], [1, 3], resamples=500, seed=42)

    assert (found.value, found.low, found.high) == (0.25, 0.0, 1.0)


def test_a_share_of_nothing_is_not_known() -> None:
    assert share_interval([0], [0], resamples=20, seed=42).value is None
