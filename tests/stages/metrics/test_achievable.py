"""The area over the lower convex hull of the steps."""

from functools import partial
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.metrics.achievable import aurc_achievable, lower_hull
from stages.metrics.confidence import evidence_count
from stages.metrics.draws import value_of
from stages.metrics.selective import aurc
from tests.stages.metrics.builders import cohort


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

    assert lower_hull([*points]) == [point for point in sorted(points) if is_below_every_line(point)]
