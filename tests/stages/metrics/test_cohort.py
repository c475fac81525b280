"""Participants as matrices."""

import pytest

from schemas.values.phq8 import PHQ8Item
from stages.metrics.cohort import cohort_of
from tests.stages.metrics.builders import cohort, subject


def test_participants_are_in_ascending_order() -> None:
    assert cohort_of([subject(9, "1", "1"), subject(3, "1", "1")]).participant_ids == (3, 9)


def test_an_unscored_item_is_marked_and_has_no_error() -> None:
    row = cohort(("20-", "013"))

    assert row.is_scored[0, :4].tolist() == [True, True, False, False]
    assert row.errors[0, :4].tolist() == [2, 1, 0, 0]
    assert (row.totals.tolist(), row.true_totals.tolist(), row.scored_items.tolist()) == ([2], [4], [2])


def test_a_cohort_may_be_empty() -> None:
    nobody = cohort_of([])

    assert (len(nobody), nobody.errors.shape, nobody.scored_items.tolist()) == (0, (0, 8), [])


def test_a_repeated_participant_is_refused() -> None:
    with pytest.raises(ValueError, match="Participant 3 is given twice; give each participant once"):
        cohort_of([subject(3, "1", "1"), subject(3, "2", "1")])


def test_a_participant_without_all_items_is_refused() -> None:
    whole = subject(3, "1", "1")
    part = {item: score for item, score in whole.items.items() if item is not PHQ8Item.SLEEP}

    with pytest.raises(ValueError, match="Participant 3 lacks PHQ8_Sleep; give all eight items"):
        cohort_of([whole.model_copy(update={"items": part})])
