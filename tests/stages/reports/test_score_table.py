"""The scores of participants beside the truth."""

from schemas.statuses import JobStatus
from stages.reports.report import build_report
from stages.reports.score_table import mode_summaries, score_table
from tests.stages.reports.builders import FEW, FEW_SHOT, ZERO_SHOT, item_scores, job, labels, run, scores

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
