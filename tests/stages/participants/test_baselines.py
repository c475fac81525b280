"""Scores without a transcript."""

import pytest

from schemas.values.participants import PHQ8Item
from stages.participants.score_by_neighbours import baseline_record, median_score, modal_score


@pytest.mark.parametrize(
    ("scores", "median", "mode"), [([0, 1], 1, 0), ([0, 0, 3], 0, 0), ([1, 2, 3, 3], 3, 3), ([], None, None)]
)
def test_of_two_equally_near_scores_the_median_is_the_higher_and_the_mode_the_lower(
    scores: list[int], median: int | None, mode: int | None
) -> None:
    assert (median_score(scores), modal_score(scores)) == (median, mode)


def test_there_is_a_record_only_where_each_item_has_a_label() -> None:
    labels = {item.evidence_key: 2 for item in PHQ8Item}

    record = baseline_record("paper-train", [labels, None])

    assert record == {"split": "paper-train", "participants": 1, "median": labels, "mode": labels}
    assert baseline_record("paper-train", [labels | {"PHQ8_Sleep": None}]) is None
