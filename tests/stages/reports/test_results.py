"""Groups of failures, and the scores of participants beside the truth."""

from datetime import timedelta

from schemas.statuses import JobStatus
from schemas.values.runs import ReportedFailure
from stages.reports.report import build_report
from stages.reports.results import failure_list, unresolved_counts
from stages.reports.score_table import mode_summaries, score_table
from tests.stages.reports.builders import FEW, FEW_SHOT, NOON, ZERO_SHOT, failed, item_scores, job, labels, run, scores

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
    _, listed = failure_list(12, NOON, FAILURES, LABELS)
    unresolved = unresolved_counts(FAILURES, {})

    assert [(failure.category, failure.participant_id, failure.context.get("job")) for failure in listed] == [
        ("transport", 316, "j1"),
        ("evidence_hallucination", 319, "j2"),
        ("validation_json_parse", 330, "j3"),
        ("ground_truth_missing", 319, None),
        ("ground_truth_invalid", 330, None),
    ]
    of_attempt = {"job": "j3", "mode": "zero_shot", "subject": "330", "attempt": 1, "resolved": False}
    assert listed[2] == ReportedFailure(
        category="validation_json_parse",
        severity="error",
        message="not JSON",
        participant_id=330,
        phq8_item="Sleep",
        stage="validate",
        timestamp=NOON + timedelta(seconds=3),
        context=of_attempt | {"error_type": "schemas.errors.LLMTimeoutError"},
    )
    # What a retry resolved is listed, and in no count of a report.
    summary, _ = failure_list(12, NOON, FAILURES, {})
    assert (summary.total_failures, summary.unresolved) == (3, 2)
    assert summary.by_participant == {"316": 1, "319": 1, "330": 1}
    assert unresolved.by_category == {"evidence_hallucination": 1, "validation_json_parse": 1}
    assert (unresolved.total_failures, unresolved.by_stage) == (2, {"extract": 1, "validate": 1})


JOBS = (
    job(1, 319, scores("2100000"), "11111111", mode=ZERO_SHOT),
    job(2, 316, scores("11110000"), "21110003", mode=FEW_SHOT),
    job(3, 316, None, "21110003", mode=ZERO_SHOT),
    job(4, 319, None, "11111111", mode=FEW_SHOT, status=JobStatus.RUNNING),
    job(5, 320, scores("--------"), None, mode=FEW_SHOT),
)


def test_a_mode_counts_the_items_that_have_both_score_and_truth_and_takes_baselines_over_these() -> None:
    few, zero = score_table(12, item_scores(JOBS), {"median": labels("22222222"), "mode": labels("11111111")}).modes

    # 316, whose truth is 2 1 1 1 0 0 0 3: |1-2| and |0-3| of eight items; 320 has scores for none of them and no truth.
    assert (few.mode, few.status, few.participants, few.scored, few.compared) == (FEW_SHOT, "unfinished", 3, 2, 1)
    assert (few.mae, few.coverage, few.compared_items, few.na_items) == (4 / 8, 1.0, 8, 8)
    assert (few.median_mae, few.modal_mae) == (10 / 8, 6 / 8)
    # 319, whose truth is all 1: |2-1|, 0, and |0-1| of five of seven items.
    assert (zero.mode, zero.status, zero.participants, zero.scored, zero.compared) == (ZERO_SHOT, "failed", 2, 1, 1)
    assert (zero.mae, zero.coverage, zero.compared_items, zero.na_items) == (6 / 7, 7 / 8, 7, 1)
    assert (zero.median_mae, zero.modal_mae) == (1.0, 0.0)


def test_the_figures_of_a_mode_are_those_of_the_report_to_the_last_bit() -> None:
    report = build_report(run(*JOBS), measures=FEW)

    of_report = {one.results.mode: one.results for one in report.experiments}
    assert {one.mode: (one.mae, one.coverage) for one in mode_summaries(item_scores(JOBS))} == {
        mode: (found.item_mae_weighted, found.prediction_coverage) for mode, found in of_report.items()
    }
