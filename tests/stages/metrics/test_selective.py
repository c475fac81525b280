"""Areas under risk-coverage curves and measures of rankings, against values by hand.

`tests/recorded` compares curves, areas and intervals with those of the published code.
"""

from functools import partial

import numpy as np
import pytest

from stages.metrics.confidence import evidence_count
from stages.metrics.scores import Cohort
from stages.metrics.selective import (
    Curve,
    areas_under,
    augrc_optimal,
    aurc_optimal,
    lower_hulls,
    measure_rankings,
    risk_coverage_curve,
)
from tests.stages.metrics.builders import cohort
from tests.stages.metrics.formulas import of_curve, risk_at, value_of

WORKED = cohort(("0101----", "0003", "3221"))
"""Confidences 3, 2, 2, 1 with losses 0, 1/3, 0, 2/3, and four abstentions."""


def test_the_curve_and_the_areas_of_a_worked_example() -> None:
    # k = 1, 3, 4 of N = 8; the losses taken add up to 0, 1/3, 1.
    points = [
        (point.confidence, point.coverage, point.selective_risk, point.generalized_risk)
        for point in risk_coverage_curve(WORKED, confidence=evidence_count, loss="abs_norm")
    ]

    expected = [(3, 1 / 8, 0, 0), (2, 3 / 8, 1 / 9, 1 / 24), (1, 4 / 8, 1 / 4, 1 / 8)]
    assert points == [pytest.approx(point) for point in expected]
    # In the order 0, 0, 1/3, 2/3 the selective risks are 0, 0, 1/9, 1/4, the generalised ones 0, 0, 1/24, 1/8.
    best = partial(aurc_optimal, loss="abs_norm"), partial(augrc_optimal, loss="abs_norm")
    assert value_of(best[0], WORKED) == pytest.approx((1 / 9 / 2 + (1 / 9 + 1 / 4) / 2) / 8)
    assert value_of(best[1], WORKED) == pytest.approx((1 / 24 / 2 + (1 / 24 + 1 / 8) / 2) / 8)
    # The step of confidence 2 is above the oracle's area: its line rises from 1/8 on, the oracle's from 2/8 on.
    assert value_of(of_curve("excess_aurc"), WORKED) == pytest.approx(1 / 9 / 2 / 8)
    assert value_of(of_curve("excess_augrc"), WORKED) == pytest.approx(1 / 24 / 2 / 8)


def test_the_worked_numbers_of_the_specification() -> None:
    # The same four items with one abstention, N = 5.
    items, lost = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([[0.0], [0.0], [1 / 3], [1.0]])
    found = areas_under(Curve(items, lost, lost / np.maximum(items, 1), np.array([5.0])))

    # 0.4 (0 + 1/9) / 2 + 0.2 (1/9 + 1/4) / 2, and 0.4 (0 + 1/15) / 2 + 0.2 (1/15 + 1/5) / 2
    assert [one.tolist() for one in found] == [[pytest.approx(0.058333, abs=1e-6)], [pytest.approx(0.04)]]


@pytest.mark.parametrize(("coverage", "expected"), [(0.1, 0), (0.125, 0), (0.2, 1 / 9), (0.5, 1 / 4), (0.51, None)])
def test_risk_at_coverage_is_that_of_the_first_step_that_reaches_it(coverage: float, expected: float | None) -> None:
    found = value_of(risk_at(coverage), WORKED)

    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("empty", [cohort(), cohort(("-", "1"), ("-", "2"))])
def test_with_nothing_scored_there_is_no_curve_and_no_area(empty: Cohort) -> None:
    for name in ("aurc", "augrc", "excess_aurc", "excess_augrc", "aurc_achievable", "0.5"):
        assert value_of(of_curve(name), empty) is None
    assert risk_coverage_curve(empty, confidence=evidence_count, loss="abs_norm") == ()


def test_each_resample_has_a_hull_of_its_own_points() -> None:
    x, y = np.array([[0, 1, 2, 3], [0, 1, 2, 3]], dtype=float), np.array([[0, 2, 1, 3], [9, 3, 2, 3]], dtype=float)
    is_point = np.array([[True] * 4, [False, True, True, True]])

    found, sizes = lower_hulls(x.T, y.T, is_point.T)

    hulls = [found[:, :size, at].T.tolist() for at, size in enumerate(sizes)]
    assert hulls == [[[0, 0], [2, 1], [3, 3]], [[1, 3], [2, 2], [3, 3]]]
    # Losses 0, 1, 0, 0 by falling confidence: risks 0, 1/2, 1/3, 1/4 at 1/8 ... 4/8. The hull keeps the ends alone.
    four = cohort(("0300", "0000", "4321"))
    assert value_of(of_curve("aurc_achievable"), four) == pytest.approx(3 / 8 * (1 / 4) / 2)


def test_worked_numbers_of_rankings() -> None:
    # DCG 2/log2(3) + 1/log2(4) = 1.761860, the best order 2/log2(2) + 1/log2(3) = 2.630930
    found = measure_rankings(
        {"a": ["d9", "d2", "d1"], "b": [], "c": ["d1", *(f"d{number}" for number in range(4, 14)), "d2"]},
        {"a": {"d1": 1, "d2": 2, "d9": -1}, "b": {"d1": 1}, "c": {"d2": 1, "d3": 1, "d1": 0}},
        cutoff=10,
    )

    assert found["a"] == pytest.approx({"ndcg@10": 0.669672, "recall@10": 1, "mrr@10": 0.5, "p@10": 0.2, "recall": 1})
    assert set(found["b"].values()) == {0.0}
    assert found["c"] == {"ndcg@10": 0.0, "recall@10": 0.0, "mrr@10": 0.0, "p@10": 0.0, "recall": 0.5}
