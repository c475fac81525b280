"""Groups of failures."""

from datetime import timedelta

from schemas.values.failures import FailureContext, HallucinatedEvidence, ReportedFailure, RunFailures
from stages.reports.failures import failure_list
from tests.stages.reports.builders import NOON, ZERO_SHOT, failed, labels

HALLUCINATED = HallucinatedEvidence(
    job_id=2, mode=ZERO_SHOT, subject="319", attempt=1, rejected=4, ended_at=NOON + timedelta(seconds=2)
)
RESOLVED = failed(
    1, 316, at=1, stage="extract", category="transport", message="refused", is_resolved=True, is_final=False
)
VALIDATION = failed(
    3, 330, at=3, stage="validate", category="validation_json_parse", message="not JSON", evidence_key="PHQ8_Sleep"
)
FAILURES = RunFailures(run_id=12, submitted_at=NOON, failed=(RESOLVED, VALIDATION), hallucinated=(HALLUCINATED,))
LABELS = {316: labels("0"), 319: None, 330: labels("0") | {"PHQ8_Sleep": 9}}


def test_failures_are_listed_in_the_order_they_happened_and_labels_last() -> None:
    found = failure_list(FAILURES, LABELS).failures

    assert [(failure.category, failure.participant_id, failure.context.job) for failure in found] == [
        ("transport", 316, "j1"),
        ("evidence_hallucination", 319, "j2"),
        ("validation_json_parse", 330, "j3"),
        ("ground_truth_missing", 319, None),
        ("ground_truth_invalid", 330, None),
    ]


def test_a_failure_names_job_stage_and_attempt() -> None:
    assert failure_list(FAILURES, {}).failures[2] == ReportedFailure(
        category="validation_json_parse",
        severity="error",
        message="not JSON",
        participant_id=330,
        phq8_item="Sleep",
        stage="validate",
        timestamp=NOON + timedelta(seconds=3),
        context=FailureContext(
            job="j3",
            mode="zero_shot",
            subject="330",
            attempt=1,
            error_type="schemas.errors.LLMTimeoutError",
            resolved=False,
        ),
    )
