"""Areas under risk-coverage curves and measures of rankings, against values by hand and by ir-measures."""

import tracemalloc
from functools import partial
from itertools import combinations, count
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.metrics.confidence import evidence_count
from stages.metrics.scores import Cohort, cohort_of
from stages.metrics.selective import (
    Areas,
    Hulls,
    Step,
    areas,
    augrc_optimal,
    aurc_optimal,
    lower_hulls,
    measure_names,
    measure_rankings,
    risk_coverage_curve,
)
from tests.stages.metrics.builders import cohort, random_subjects
from tests.stages.metrics.formulas import (
    augrc,
    aurc,
    aurc_achievable,
    excess_augrc,
    excess_aurc,
    risk_at_coverage,
    value_of,
)
from tests.stages.metrics.loops import areas_by_loops, curve_by_loops, pairs_of

WORKED = cohort(("0101----", "0003", "3221"))
"""Confidences 3, 2, 2, 1 with losses 0, 1/3, 0, 2/3, and four abstentions."""


def test_the_curve_of_a_worked_example() -> None:
    # k = 1, 3, 4 of N = 8; the losses taken add up to 0, 1/3, 1.
    points = [
        (point.confidence, point.coverage, point.selective_risk, point.generalized_risk)
        for point in risk_coverage_curve(WORKED, confidence=evidence_count)
    ]

    expected = [(3, 1 / 8, 0, 0), (2, 3 / 8, 1 / 9, 1 / 24), (1, 4 / 8, 1 / 4, 1 / 8)]
    assert points == [pytest.approx(point) for point in expected]


def test_the_worked_numbers_of_the_specification() -> None:
    # The same four items with one abstention, N = 5.
    found = Areas(np.array([5.0]))
    for taken, items, lost in ((1.0, 1.0, 0.0), (2.0, 3.0, 1 / 3), (1.0, 4.0, 1.0)):
        found.add(Step(np.array([taken]), np.array([items]), np.array([lost]), has_begun=True))

    # 0.4 (0 + 1/9) / 2 + 0.2 (1/9 + 1/4) / 2, and 0.4 (0 + 1/15) / 2 + 0.2 (1/15 + 1/5) / 2
    assert found.aurc().tolist() == [pytest.approx(0.058333, abs=1e-6)]
    assert found.augrc().tolist() == [pytest.approx(0.04)]


@pytest.mark.parametrize(("coverage", "expected"), [(0.1, 0), (0.125, 0), (0.2, 1 / 9), (0.5, 1 / 4), (0.51, None)])
def test_risk_at_coverage_is_that_of_the_first_step_that_reaches_it(coverage: float, expected: float | None) -> None:
    found = value_of(partial(risk_at_coverage, coverage=coverage, confidence=evidence_count), WORKED)

    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("coverage", [0, -0.5, 1.1, 50])
def test_a_coverage_outside_0_and_1_is_refused(coverage: float) -> None:
    for metric in (
        partial(risk_at_coverage, coverage=coverage, confidence=evidence_count),
        partial(aurc, up_to=coverage, confidence=evidence_count),
    ):
        with pytest.raises(ValueError, match="give a coverage above 0 and at most 1"):
            value_of(metric, WORKED)


@pytest.mark.parametrize("empty", [cohort(), cohort(("-", "1"), ("-", "2"))])
def test_with_nothing_scored_there_is_no_curve_and_no_area(empty: Cohort) -> None:
    for area in (aurc, augrc, excess_aurc, excess_augrc, aurc_achievable):
        assert value_of(partial(area, confidence=evidence_count), empty) is None
    assert value_of(partial(risk_at_coverage, coverage=0.5, confidence=evidence_count), empty) is None
    assert risk_coverage_curve(empty, confidence=evidence_count) == ()


@given(seed=st.integers(0, 10_000), participants=st.integers(2, 8), na_share=st.floats(0, 0.9))
def test_curve_and_areas_agree_with_plain_loops(seed: int, participants: int, na_share: float) -> None:
    subjects = random_subjects(participants, seed=seed, na_share=na_share)
    points = curve_by_loops(pairs_of(subjects), 8 * participants)
    together = cohort_of(subjects)

    curve = risk_coverage_curve(together, confidence=evidence_count)

    found = [(point.coverage, point.selective_risk, point.generalized_risk) for point in curve]
    assert found == [pytest.approx(point) for point in points]
    areas = tuple(value_of(partial(area, confidence=evidence_count), together) for area in (aurc, augrc))
    assert areas == pytest.approx(areas_by_loops(points))


def test_a_level_takes_no_memory_once_it_is_passed() -> None:
    few, many = (peak_of_areas(participants) for participants in (5, 50))

    assert many < 2 * few


def peak_of_areas(participants: int) -> int:
    """The most memory that the areas of 2,000 resamples take beside their draws, each item at a level of its own."""
    subjects, ranks = cohort_of(random_subjects(participants, seed=1, na_share=0)), count()
    draws = np.ones((2000, participants), order="F")
    tracemalloc.start()
    try:
        areas(subjects, draws, confidence=lambda _: next(ranks))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


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


def test_the_oracle_of_a_worked_example() -> None:
    # In the order 0, 0, 1/3, 2/3 the selective risks are 0, 0, 1/9, 1/4, the generalised ones 0, 0, 1/24, 1/8.
    assert value_of(aurc_optimal, WORKED) == pytest.approx((1 / 9 / 2 + (1 / 9 + 1 / 4) / 2) / 8)
    assert value_of(augrc_optimal, WORKED) == pytest.approx((1 / 24 / 2 + (1 / 24 + 1 / 8) / 2) / 8)


def test_the_excess_is_the_area_above_the_oracle() -> None:
    # The step of confidence 2 is above the oracle's area: its line rises from 1/8 on, the oracle's from 2/8 on.
    assert value_of(partial(excess_aurc, confidence=evidence_count), WORKED) == pytest.approx(1 / 9 / 2 / 8)
    assert value_of(partial(excess_augrc, confidence=evidence_count), WORKED) == pytest.approx(1 / 24 / 2 / 8)


@given(seed=st.integers(0, 10_000), participants=st.integers(2, 8))
def test_the_oracle_agrees_with_taking_items_one_by_one(seed: int, participants: int) -> None:
    subjects = random_subjects(participants, seed=seed)
    losses = sorted(loss for _, loss in pairs_of(subjects))
    one_by_one = curve_by_loops([(-at, loss) for at, loss in enumerate(losses)], 8 * participants)

    found = tuple(value_of(optimal, cohort_of(subjects)) for optimal in (aurc_optimal, augrc_optimal))

    assert found == pytest.approx(areas_by_loops(one_by_one))


DOCUMENTS = [f"d{number}" for number in range(15)]
RELEVANCE = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 3), min_size=1).filter(
    lambda found: max(found.values()) > 0
)
RANKING = st.lists(st.sampled_from(DOCUMENTS), unique=True)


def by_loops(ranking: list[str], relevance: dict[str, int], cutoff: int) -> list[float]:
    """The measures of one query, after their definitions."""
    gains = [max(0, relevance.get(document, 0)) for document in ranking]
    ideal = sorted((max(0, gain) for gain in relevance.values()), reverse=True)
    dcg, best = (
        sum(gain / log2(rank + 1) for rank, gain in enumerate(found[:cutoff], start=1)) for found in (gains, ideal)
    )
    relevant = sum(gain > 0 for gain in relevance.values())
    hits = sum(gain > 0 for gain in gains[:cutoff])
    first = next((rank for rank, gain in enumerate(gains[:cutoff], start=1) if gain > 0), None)
    return [
        dcg / best,
        hits / relevant,
        0.0 if first is None else 1 / first,
        hits / cutoff,
        sum(gain > 0 for gain in gains) / relevant,
    ]


def test_worked_numbers() -> None:
    # DCG 2/log2(3) + 1/log2(4) = 1.761860, the best order 2/log2(2) + 1/log2(3) = 2.630930
    found = measure_rankings(
        {"a": ["d9", "d2", "d1"], "b": [], "c": ["d1", *DOCUMENTS[4:14], "d2"]},
        {"a": {"d1": 1, "d2": 2}, "b": {"d1": 1}, "c": {"d2": 1, "d3": 1, "d1": 0}},
        cutoff=10,
    )

    assert found["a"] == pytest.approx({"ndcg@10": 0.669672, "recall@10": 1, "mrr@10": 0.5, "p@10": 0.2, "recall": 1})
    assert set(found["b"].values()) == {0.0}
    assert found["c"] == {"ndcg@10": 0.0, "recall@10": 0.0, "mrr@10": 0.0, "p@10": 0.0, "recall": 0.5}


@given(st.dictionaries(st.sampled_from("abc"), st.tuples(RANKING, RELEVANCE), min_size=1), st.integers(1, 12))
def test_a_plain_loop_agrees(queries: dict[str, tuple[list[str], dict[str, int]]], cutoff: int) -> None:
    rankings = {query: ranking for query, (ranking, _) in queries.items()}
    relevance = {query: judged for query, (_, judged) in queries.items()}

    found = measure_rankings(rankings, relevance, cutoff=cutoff)

    for query, (ranking, judged) in queries.items():
        expected = dict(zip(measure_names(cutoff), by_loops(ranking, judged, cutoff), strict=True))
        assert found[query] == pytest.approx(expected)
