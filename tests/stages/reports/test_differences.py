"""Differences of two runs, and groups of failures."""

from datetime import timedelta

import pytest

from schemas.statuses import JobStatus
from schemas.values.differences import Flip, FlipKind, SettingDifference, Side
from schemas.values.failures import FailureContext, HallucinatedEvidence, ReportedFailure, RunFailures
from schemas.values.participants import PHQ8Item
from stages.reports.differences import RunInMode, difference, failure_list
from tests.stages.reports.builders import FEW, FEW_SHOT, NOON, ZERO_SHOT, failed, job, labels, run, scores

LEFT = run(
    job(1, 316, scores("10"), "11"),
    job(2, 319, scores("2-"), "01"),
    job(3, 330, None, "0"),
    job(4, 339, scores("1"), "1"),
    job(5, 345, None, "0", status=JobStatus.RUNNING),
    run_id=12,
    settings={"MODEL_TEMPERATURE": 0.0, "LLM_BACKEND": "ollama"},
)
RIGHT = run(
    job(1, 316, scores("1-"), "11"),
    job(2, 319, scores("01"), "01"),
    job(3, 330, scores("0"), "0"),
    job(5, 345, scores("0"), "0"),
    job(6, 357, scores("3"), "3"),
    run_id=15,
    settings={"MODEL_TEMPERATURE": 0.5, "LLM_BACKEND": "ollama", "RAGQ_RETRIES": 2},
)

FOUND = difference(RunInMode(LEFT, ZERO_SHOT), RunInMode(RIGHT, ZERO_SHOT), measures=FEW)


def test_deltas_are_taken_over_the_participants_that_both_scored() -> None:
    # 316: errors 0 1, then 0; 319: error 2, then 0 0. Left 3 / 3, right 0 / 3.
    delta = FOUND.deltas["item_mae_weighted"]

    assert (delta.participants, delta.left, delta.right, delta.delta.value) == (2, 1.0, 0.0, -1.0)
    assert FOUND.common_participants == 2
    assert (FOUND.deltas["cmax"].left, FOUND.deltas["cmax"].right) == (3 / 16, 3 / 16)
    assert "aurc" in FOUND.deltas


def test_every_item_that_changed_is_named() -> None:
    no_interest, depressed = PHQ8Item.NO_INTEREST, PHQ8Item.DEPRESSED

    assert FOUND.flips == (
        Flip(participant_id=316, item=depressed, kind="lost", left=0, right=None, truth=1, error_change=None),
        Flip(participant_id=319, item=no_interest, kind="changed", left=2, right=0, truth=0, error_change=-2),
        Flip(participant_id=319, item=depressed, kind="gained", left=None, right=1, truth=1, error_change=None),
    )
    assert FOUND.flip_counts == {FlipKind.LOST: 1, FlipKind.GAINED: 1, FlipKind.CHANGED: 1}


def test_settings_that_differ_are_shown_with_both_values() -> None:
    assert FOUND.settings == {
        "MODEL_TEMPERATURE": SettingDifference(left=0.0, right=0.5),
        "RAGQ_RETRIES": SettingDifference(left=None, right=2),
    }


def test_two_modes_of_one_run_can_be_compared() -> None:
    one = run(job(1, 316, scores("1"), "3"), job(2, 316, scores("2"), "3", mode=FEW_SHOT))

    found = difference(RunInMode(one, ZERO_SHOT), RunInMode(one, FEW_SHOT), measures=FEW)

    assert (found.left, found.right) == (
        Side(run_id="r12", mode=ZERO_SHOT, participants=1),
        Side(run_id="r12", mode=FEW_SHOT, participants=1),
    )
    assert found.deltas["item_mae_weighted"].delta.value == pytest.approx(-1)
    assert found.settings == {}


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
