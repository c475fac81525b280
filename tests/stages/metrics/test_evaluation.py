"""All numbers of one mode of a run."""

from stages.metrics.scores import binary_metrics, evaluate, per_item, total_metrics
from tests.stages.metrics.builders import cohort


def test_an_evaluation_counts_everybody() -> None:
    three = cohort(("3131", "0"), ("1", "0"), ("-", "0"))

    found = evaluate(three, failed_subjects=2, min_coverage=0.5, threshold=9)

    assert found.model_dump() == {
        "total_subjects": 5,
        "successful_subjects": 3,
        "failed_subjects": 2,
        "excluded_no_evidence": 1,
        "evaluated_subjects": 2,
        "item_mae_weighted": (3 + 1 + 3 + 1 + 1) / 5,
        "item_mae_by_item": (2 + 1 + 3 + 1) / 4,
        "item_mae_by_subject": (2 + 1) / 2,
        "prediction_coverage": 5 / 16,
        "per_item": {item: metrics.model_dump() for item, metrics in per_item(three).items()},
        "total_metrics": total_metrics(three).model_dump(),
        "binary_metrics": binary_metrics(three, threshold=9).model_dump(),
    }
