"""Risk-coverage curves and the areas under them."""

import tracemalloc
from functools import partial
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.metrics.confidence import evidence_count
from stages.metrics.scores import Cohort, cohort_of, value_of
from stages.metrics.selective import Areas, Loss, Step, areas, risk_coverage_curve
from tests.stages.metrics.builders import cohort, random_subjects
from tests.stages.metrics.formulas import augrc, aurc, aurc_achievable, excess_augrc, excess_aurc, risk_at_coverage
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


def test_absolute_loss_is_three_times_the_normed_one() -> None:
    for area in (aurc, augrc):
        normed, absolute = (value_of(partial(area, confidence=evidence_count, loss=loss), WORKED) for loss in Loss)
        assert absolute == pytest.approx(3 * (normed or 0))


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
