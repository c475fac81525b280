"""The binary decision, and who has a total, against values by hand.

`tests/recorded` compares errors, coverage, totals and the binary decision with those of the published code.
"""

import pytest

from stages.metrics.scores import binary_metrics, has_total
from tests.stages.metrics.builders import cohort

HIGH, LOW = "33310000", "11110000"
"""Totals 10 and 4, nothing open."""


def test_binary_measures_of_a_worked_example() -> None:
    # Two true positives, one false positive, one true negative, one false negative, one without prediction.
    six = cohort((HIGH, HIGH), ("3333", HIGH), (HIGH, LOW), (LOW, LOW), (LOW, HIGH), ("33300---", HIGH))

    # Totals of the depressed 10, 12, 4, of the others 10, 4. Pairs: 10 = 10, 10 > 4, 12 > 10, 12 > 4, 4 < 10, 4 = 4.
    assert binary_metrics(six, threshold=10).model_dump() == {
        "subjects": 6,
        "predicted": 5,
        "coverage": pytest.approx(5 / 6),
        "accuracy": pytest.approx(3 / 5),
        "precision": pytest.approx(2 / 3),
        "recall": pytest.approx(2 / 3),
        "f1": pytest.approx(2 / 3),
        "auroc": pytest.approx((0.5 + 1 + 1 + 1 + 0 + 0.5) / 6),
        "confusion": {"true_positive": 2, "false_positive": 1, "true_negative": 1, "false_negative": 1},
    }


def test_the_threshold_holds_for_prediction_and_truth() -> None:
    found = binary_metrics(cohort((LOW, LOW), (HIGH, LOW)), threshold=4)

    assert found.confusion == {"true_positive": 2, "false_positive": 0, "true_negative": 0, "false_negative": 0}


@pytest.mark.parametrize(
    ("min_coverage", "scored", "expected"),
    [
        *((0.5, 4, True), (0.5, 3, False), (0.51, 4, False), (0.51, 5, True)),
        *((1, 7, False), (1, 8, True), (0.125, 1, True), (0, 0, False)),
    ],
)
def test_a_total_needs_the_ceiling_of_the_share_of_eight_and_a_score(
    min_coverage: float, scored: int, expected: bool
) -> None:
    assert has_total(cohort(("1" * scored, "1")), min_coverage=min_coverage).tolist() == [expected]
