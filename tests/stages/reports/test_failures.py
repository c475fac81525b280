"""Groups of failures."""

from datetime import timedelta

from schemas.values.runs import FailureContext, ReportedFailure
from stages.reports.results import failure_list, unresolved_counts
from tests.stages.reports.builders import NOON, failed, labels

HALLUCINATED = failed(
    2, 319, at=2, stage="extract", type=None, category="evidence_hallucination", message="None", is_final=False
)
RESOLVED = failed(
    1, 316, at=1, stage="extract", category="transport", message="refused", is_resolved=True, is_final=False
)
VALIDATION = failed(
    3, 330, at=3, stage="validate", category="validation_json_parse", message="not JSON", evidence_key="PHQ8_Sleep"
)
FAILURES = (RESOLVED, VALIDATION, HALLUCINATED)
LABELS = {316: labels("0"), 319: None, 330: labels("0") | {"PHQ8_Sleep": 9}}


def test_failures_are_listed_in_the_order_they_happened_and_labels_last() -> None:
    found = failure_list(12, NOON, FAILURES, LABELS)
    unresolved = unresolved_counts(FAILURES, {})

    assert [(failure.category, failure.participant_id, failure.context.job) for failure in found.failures] == [
        ("transport", 316, "j1"),
        ("evidence_hallucination", 319, "j2"),
        ("validation_json_parse", 330, "j3"),
        ("ground_truth_missing", 319, None),
        ("ground_truth_invalid", 330, None),
    ]
    of_attempt = {"job": "j3", "mode": "zero_shot", "subject": "330", "attempt": 1, "resolved": False}
    assert found.failures[2] == ReportedFailure(
        category="validation_json_parse",
        severity="error",
        message="not JSON",
        participant_id=330,
        phq8_item="Sleep",
        stage="validate",
        timestamp=NOON + timedelta(seconds=3),
        context=FailureContext(**of_attempt, error_type="schemas.errors.LLMTimeoutError"),
    )
    # What a retry resolved is listed, and in no count of a report.
    summary = failure_list(12, NOON, FAILURES, {}).summary
    assert (summary.total_failures, summary.unresolved) == (3, 2)
    assert summary.by_participant == {"316": 1, "319": 1, "330": 1}
    assert unresolved.by_category == {"evidence_hallucination": 1, "validation_json_parse": 1}
    assert (unresolved.total_failures, unresolved.by_stage) == (2, {"extract": 1, "validate": 1})
