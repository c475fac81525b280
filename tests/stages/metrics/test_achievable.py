"""The area over the lower convex hull of the steps."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.metrics.confidence import evidence_count
from stages.metrics.scores import value_of
from stages.metrics.selective import Hulls, lower_hulls
from tests.stages.metrics.builders import cohort
from tests.stages.metrics.formulas import aurc, aurc_achievable


def test_a_step_above_the_hull_is_passed_over() -> None:
    # Losses 0, 1, 0, 0 by falling confidence: risks 0, 1/2, 1/3, 1/4 at 1/8 ... 4/8. The hull keeps the ends alone.
    four = cohort(("0300", "0000", "4321"))

    assert value_of(partial(aurc_achievable, confidence=evidence_count), four) == pytest.approx(3 / 8 * (1 / 4) / 2)
    assert value_of(partial(aurc, confidence=evidence_count), four) == pytest.approx(
        (1 / 2 / 2 + (1 / 2 + 1 / 3) / 2 + (1 / 3 + 1 / 4) / 2) / 8
    )


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=9, unique_by=lambda p: p[0]))
def test_a_point_is_on_the_hull_unless_it_lies_on_or_above_a_line_between_two_others(
    points: list[tuple[int, int]],
) -> None:
    def is_below_every_line(point: tuple[int, int]) -> bool:
        around = [(a, b) for a, b in combinations(sorted(points), 2) if a[0] < point[0] < b[0]]
        return all((point[1] - a[1]) * (b[0] - a[0]) < (b[1] - a[1]) * (point[0] - a[0]) for a, b in around)

    in_order = ((np.array([x], dtype=float), np.array([y], dtype=float), np.array([True])) for x, y in sorted(points))

    assert found_by(lower_hulls(in_order, 1)) == [[p for p in sorted(points) if is_below_every_line(p)]]


def test_each_row_has_a_hull_of_its_own_points() -> None:
    x, y = np.array([[0, 1, 2, 3], [0, 1, 2, 3]], dtype=float), np.array([[0, 2, 1, 3], [9, 3, 2, 3]], dtype=float)
    is_point = np.array([[True] * 4, [False, True, True, True]])

    found = lower_hulls(zip(x.T, y.T, is_point.T, strict=True), 2)

    assert found_by(found) == [[(0, 0), (2, 1), (3, 3)], [(1, 3), (2, 2), (3, 3)]]


def found_by(hulls: Hulls) -> list[list[tuple[float, float]]]:
    return [
        list(zip(hulls.x[:size, row].tolist(), hulls.y[:size, row].tolist(), strict=True))
        for row, size in enumerate(hulls.sizes.tolist())
    ]
