"""Errors, coverage, totals and the binary decision, against values by hand.

`tests/recorded` compares all of them with those of the published code.
"""

import pytest

from schemas.values.scoring import Confusion
from stages.metrics.scores import (
    Cohort,
    Metric,
    binary_metrics,
    cmax,
    cohort_of,
    has_total,
    item_mae_by_item,
    item_mae_by_subject,
    item_mae_weighted,
    prediction_coverage,
    total_metrics,
)
from tests.stages.metrics.builders import cohort, subject
from tests.stages.metrics.formulas import value_of

TWO = cohort(("31", "00"), ("1---", "0"))
"""Errors 3 and 1 of the first participant, 1 of the second; first item 3 and 1, second item 1."""


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (item_mae_weighted, (3 + 1 + 1) / 3),
        (item_mae_by_item, ((3 + 1) / 2 + 1 / 1) / 2),  # two items have data
        (item_mae_by_subject, ((3 + 1) / 2 + 1 / 1) / 2),
    ],
)
def test_the_mae_of_a_worked_example(metric: Metric, expected: float) -> None:
    assert value_of(metric, TWO) == pytest.approx(expected)


@pytest.mark.parametrize("metric", [item_mae_weighted, item_mae_by_item, item_mae_by_subject])
@pytest.mark.parametrize("empty", [cohort(), cohort(("--------", "3")), cohort(("-", "1"), ("-", "2"))])
def test_without_a_score_there_is_no_error(metric: Metric, empty: Cohort) -> None:
    assert value_of(metric, empty) is None


HIGH, LOW = "33310000", "11110000"
"""Totals 10 and 4, nothing open."""


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ("3331----", True),  # 10..22
        ("33300000", False),  # 9
        ("3330000-", None),  # 9..12
        ("330000--", None),  # 6..12
        ("300000--", False),  # 3..9
        ("--------", None),  # 0..24
    ],
)
def test_only_bounds_on_one_side_decide(scores: str, expected: bool | None) -> None:
    found = binary_metrics(cohort((scores, "0"))).confusion

    # The truth is a total of 0.
    assert (found.false_positive, found.true_negative) == (int(expected is True), int(expected is False))


def test_binary_measures_of_a_worked_example() -> None:
    # Two true positives, one false positive, one true negative, one false negative, one without prediction.
    six = cohort((HIGH, HIGH), ("3333", HIGH), (HIGH, LOW), (LOW, LOW), (LOW, HIGH), ("33300---", HIGH))

    # Totals of the depressed 10, 12, 4, of the others 10, 4. Pairs: 10 = 10, 10 > 4, 12 > 10, 12 > 4, 4 < 10, 4 = 4.
    assert binary_metrics(six).model_dump() == {
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

    assert found.confusion == Confusion(true_positive=2, false_positive=0, true_negative=0, false_negative=0)


def test_a_measure_without_a_denominator_is_undefined() -> None:
    all_well = binary_metrics(cohort((LOW, LOW))).model_dump()

    assert {name for name, value in all_well.items() if value is None} == {"precision", "recall", "f1", "auroc"}
    assert (all_well["coverage"], all_well["accuracy"], all_well["confusion"]["true_negative"]) == (1.0, 1.0, 1)


def test_a_repeated_participant_is_refused() -> None:
    with pytest.raises(ValueError, match="Participant 3 is given twice; give each participant once"):
        cohort_of([subject(3, "1", "1"), subject(3, "2", "1")])


def test_coverage_leaves_out_unscored_participants_and_cmax_does_not() -> None:
    # 6 + 2 of the items of two evaluated participants; three participants in all.
    three = cohort(("000000", "0"), ("00", "0"), ("-", "0"))

    assert value_of(prediction_coverage, three) == pytest.approx(8 / 16)
    assert value_of(cmax, three) == pytest.approx(8 / 24)
    unscored = cohort(("-", "0"))
    assert (value_of(prediction_coverage, unscored), value_of(cmax, unscored)) == (None, 0.0)
    assert (value_of(prediction_coverage, cohort()), value_of(cmax, cohort())) == (None, None)


def test_totals_of_a_worked_example() -> None:
    # Totals 4, 6, 12 against 5, 6, 10: errors -1, 0, 2. Bands minimal|mild, mild|mild, moderate|moderate. The fourth
    # has three scored items and no total. r = (3 x 176 - 22 x 21) / sqrt((3 x 196 - 484) (3 x 161 - 441)).
    four = cohort(("1111", "11111"), ("33000", "33"), ("33330000", "3331"), ("333", "333"))

    assert total_metrics(four).model_dump() == {
        "subjects": 4,
        "predicted": 3,
        "coverage": 0.75,
        "mae": pytest.approx(1.0),
        "rmse": pytest.approx((5 / 3) ** 0.5),
        "pearson_r": pytest.approx(66 / (104 * 42) ** 0.5),
        "severity_accuracy": pytest.approx(2 / 3),
    }


@pytest.mark.parametrize(
    ("min_coverage", "scored", "expected"),
    [(0.5, 4, True), (0.5, 3, False), (0.51, 4, False), (0.51, 5, True), (1, 7, False), (1, 8, True), (0.125, 1, True)],
)
def test_a_total_needs_the_ceiling_of_the_share_of_eight(min_coverage: float, scored: int, expected: bool) -> None:
    assert has_total(cohort(("1" * scored, "1")), min_coverage=min_coverage).tolist() == [expected]


def test_a_participant_without_any_score_never_has_a_total() -> None:
    assert has_total(cohort(("-", "1")), min_coverage=0).tolist() == [False]


@pytest.mark.parametrize(
    "rows",
    [
        [("1111", "1")],  # one participant
        [("1111", "1"), ("2200", "3")],  # equal totals
        [("1111", "1"), ("2222", "0001")],  # equal truths
    ],
)
def test_correlation_needs_two_participants_and_variance(rows: list[tuple[str, str]]) -> None:
    assert total_metrics(cohort(*rows)).pearson_r is None
