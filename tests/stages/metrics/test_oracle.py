"""Optimal and excess areas."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.metrics.confidence import evidence_count
from stages.metrics.scores import cohort_of, value_of
from stages.metrics.selective import augrc_optimal, aurc_optimal
from tests.stages.metrics.builders import cohort, random_subjects
from tests.stages.metrics.formulas import excess_augrc, excess_aurc
from tests.stages.metrics.loops import areas_by_loops, curve_by_loops, pairs_of

WORKED = cohort(("0101----", "0003", "3221"))
"""Confidences 3, 2, 2, 1 with losses 0, 1/3, 0, 2/3, and four abstentions."""


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


@given(seed=st.integers(0, 10_000))
def test_no_order_of_single_items_beats_the_oracle(seed: int) -> None:
    subjects = random_subjects(3, seed=seed)
    losses = [loss for _, loss in pairs_of(subjects)]
    shuffled = np.random.default_rng(seed).permutation(losses).tolist()
    areas = areas_by_loops(curve_by_loops([(-at, loss) for at, loss in enumerate(shuffled)], 24))

    optimal = [value_of(metric, cohort_of(subjects)) for metric in (aurc_optimal, augrc_optimal)]

    assert all((area or 0) >= (best or 0) - 1e-12 for area, best in zip(areas, optimal, strict=True))
