"""Bars on one timeline."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.reports.waterfall import Bar, waterfall

SPANS = st.lists(
    st.tuples(st.integers(0, 10_000), st.integers(0, 500)).map(lambda span: (float(span[0]), float(sum(span)))),
    max_size=8,
)


def test_nothing_gives_no_bars() -> None:
    assert waterfall([]) == ([], [])


def test_spans_without_time_have_no_width() -> None:
    assert waterfall([(5, 5)]).bars == [Bar(0, 0)]


def test_a_short_wait_is_drawn_as_long_as_it_was() -> None:
    found = waterfall([(0, 8), (10, 18)])
    assert found.waits == []
    assert found.bars[1].start == pytest.approx(10 / 18)


@given(SPANS)
def test_bars_are_within_the_timeline_and_in_order(spans: list[tuple[float, float]]) -> None:
    found = waterfall(spans)
    assert all(bar.start >= -1e-9 and bar.start + bar.width <= 1 + 1e-9 for bar in found.bars)
    assert all(0 <= wait.at <= 1 for wait in found.waits)
    by_start = sorted(range(len(spans)), key=lambda place: spans[place][0])
    starts = [found.bars[place].start for place in by_start]
    assert all(left <= right + 1e-9 for left, right in pairwise(starts))
