"""Participants as matrices."""

import pytest

from stages.metrics.scores import cohort_of
from tests.stages.metrics.builders import cohort, subject


def test_an_unscored_item_is_marked_and_has_no_error() -> None:
    row = cohort(("20-", "013"))

    assert row.is_scored[0, :4].tolist() == [True, True, False, False]
    assert row.errors[0, :4].tolist() == [2, 1, 0, 0]
    assert (row.totals.tolist(), row.true_totals.tolist(), row.scored_items.tolist()) == ([2], [4], [2])


def test_a_repeated_participant_is_refused() -> None:
    with pytest.raises(ValueError, match="Participant 3 is given twice; give each participant once"):
        cohort_of([subject(3, "1", "1"), subject(3, "2", "1")])
