"""The scores of participants beside the truth."""

from schemas.statuses import JobStatus
from schemas.values.scoring import ExperimentStatus, ModeSummary
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


def test_a_mode_counts_the_items_that_have_both_score_and_truth() -> None:
    few, zero = score_table(12, item_scores(JOBS)).modes

    # 316: |1-2| and |0-3| of eight items; 320 has scores for none of them and no truth.
    no_baseline = {"median_mae": None, "modal_mae": None}
    assert few == ModeSummary(
        mode=FEW_SHOT,
        status=ExperimentStatus.UNFINISHED,
        participants=3,
        scored=2,
        compared=1,
        mae=4 / 8,
        coverage=1.0,
        compared_items=8,
        na_items=8,
        **no_baseline,
    )
    # 319: |2-1|, 0, and |0-1| of five of seven items.
    assert zero == ModeSummary(
        mode=ZERO_SHOT,
        status=ExperimentStatus.FAILED,
        participants=2,
        scored=1,
        compared=1,
        mae=6 / 7,
        coverage=7 / 8,
        compared_items=7,
        na_items=1,
        **no_baseline,
    )


def test_the_figures_of_a_mode_are_those_of_the_report_to_the_last_bit() -> None:
    report = build_report(run(*JOBS), measures=FEW)

    of_report = {one.results.mode: one.results for one in report.experiments}
    assert {one.mode: (one.mae, one.coverage) for one in mode_summaries(item_scores(JOBS))} == {
        mode: (found.item_mae_weighted, found.prediction_coverage) for mode, found in of_report.items()
    }


def test_the_error_of_the_training_median_is_over_the_items_that_the_mode_scored() -> None:
    baseline = {"median": labels("22222222"), "mode": labels("11111111")}

    few, _ = score_table(12, item_scores(JOBS), baseline).modes

    # 316, whose truth is 2 1 1 1 0 0 0 3.
    assert (few.median_mae, few.modal_mae) == (10 / 8, 6 / 8)
