"""Binary classification: depressed or not."""

from functools import partial

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score  # type: ignore[import-untyped]

from schemas.values.metrics import BinaryMetrics, Confusion
from stages.metrics.scores import auroc, binary_metrics, cohort_of, is_depressed, value_of
from stages.participants.score_reply import totals_of
from tests.stages.metrics.builders import cohort, random_subjects, subject

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
    found = is_depressed(totals_of(score.score for score in subject(1, scores, "0").items.values()))

    assert found is expected


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
    all_well = binary_metrics(cohort((LOW, LOW)))

    assert all_well == BinaryMetrics(
        subjects=1,
        predicted=1,
        coverage=1.0,
        accuracy=1.0,
        precision=None,
        recall=None,
        f1=None,
        auroc=None,
        confusion=Confusion(true_positive=0, false_positive=0, true_negative=1, false_negative=0),
    )


@pytest.mark.parametrize("seed", range(8))
def test_binary_agrees_with_another_library(seed: int) -> None:
    together = cohort_of(random_subjects(60, seed=seed, na_share=0.1))
    bounds = [totals_of(score.score for score in one.items.values()) for one in together.subjects]
    answers = np.array([is_depressed(totals) for totals in bounds], dtype=object)
    decided = np.array([answer is not None for answer in answers])
    predicted, truth = answers[decided].astype(bool), (together.true_totals >= 10)[decided]

    found = binary_metrics(together)

    assert found.predicted == len(predicted)
    assert found.precision == pytest.approx(precision_score(truth, predicted))
    assert found.recall == pytest.approx(recall_score(truth, predicted))
    assert found.f1 == pytest.approx(f1_score(truth, predicted))
    totals = together.totals[decided]
    assert value_of(partial(auroc, threshold=10), together) == pytest.approx(roc_auc_score(truth, totals))
