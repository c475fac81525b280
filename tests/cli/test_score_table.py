"""The scores of a participant run in the terminal."""

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console

from cli.drawing import Trimmed
from cli.score_table import score_table
from schemas.statuses import JobStatus
from schemas.values.scored_runs import ScoredJob
from stages.reports.score_table import score_table as table_of
from store.database import Connection
from store.runs import runs
from tests.cli.conftest import Ragq
from tests.stages.reports.builders import FEW_SHOT, ZERO_SHOT, item_scores, job, labels, scores
from tests.store.conftest import new_run
from tests.store.scored import TIMED_OUT, Outcome, import_labels, store_scored_run


def printed(*jobs: ScoredJob, baseline: Mapping[str, Any] | None = None) -> list[str]:
    screen = Console(file=io.StringIO(), width=80)
    screen.print(Trimmed(score_table(table_of(12, item_scores(jobs), baseline))))
    assert isinstance(screen.file, io.StringIO)
    return [line.rstrip() for line in screen.file.getvalue().splitlines()]


def test_items_are_lines_and_participants_stand_side_by_side() -> None:
    lines = printed(
        job(1, 316, scores("1111000"), "21110003", mode=FEW_SHOT),
        job(2, 316, scores("00000000"), "21110003", mode=ZERO_SHOT),
        job(3, 319, scores("33333333"), None, mode=FEW_SHOT),
        job(4, 319, None, None, mode=ZERO_SHOT, status=JobStatus.POISONED),
    )

    assert [line.split() for line in lines[:16]] == [
        ["mode", "MAE", "items", "compared", "N/A", "participants", "scored"],
        ["few_shot", "0.143", "7", "1", "2", "of", "2"],
        ["zero_shot", "1.000", "8", "0", "1", "of", "2"],
        [],
        ["316", "319"],
        ["item", "few", "zero", "truth", "few", "zero", "truth"],
        ["NoInterest", "1", "0", "2", "3", "-", "-"],
        ["Depressed", "1", "0", "1", "3", "-", "-"],
        ["Sleep", "1", "0", "1", "3", "-", "-"],
        ["Tired", "1", "0", "1", "3", "-", "-"],
        ["Appetite", "0", "0", "0", "3", "-", "-"],
        ["Failure", "0", "0", "0", "3", "-", "-"],
        ["Concentrating", "0", "0", "0", "3", "-", "-"],
        ["Moving", "N/A", "0", "3", "3", "-", "-"],
        ["total", "4-7", "0", "8", "24", "-", "-"],
        ["MAE", "0.14", "1.00", "-", "-"],
    ]
    assert lines[16:] == [
        "",
        "N/A: the model gave no score; a total of two numbers counts N/A as 0 and as 3.",
        "Not scored: 319 zero_shot (poisoned).",
        "Without ground truth: 319.",
        "",
    ]


async def scored(connection: Connection) -> int:
    await import_labels(connection, {316: labels("10"), 319: None})
    outcomes: dict[tuple[str, int], Outcome] = {
        ("few_shot", 316): scores("11"),
        ("zero_shot", 316): TIMED_OUT,
        ("few_shot", 319): None,
    }
    return await store_scored_run(connection, outcomes)


def test_a_finished_run_is_watched_to_its_scores(ragq: Ragq, stored: Callable[..., Any]) -> None:
    run_id = stored(
        lambda connection: store_scored_run(
            connection, {("few_shot", 316): scores("11"), ("zero_shot", 316): TIMED_OUT}
        )
    )

    watched = ragq("watch", f"r{run_id}")

    assert watched.exit_code == 3
    assert "Without ground truth: 316." in watched.stdout
    assert json.loads(ragq("watch", f"r{run_id}", "--json").stdout)["scores"]["modes"][0]["scored"] == 1


def test_a_run_that_scores_nobody_has_no_scores(ragq: Ragq, stored: Callable[..., Any]) -> None:
    run = stored(runs.store, new_run(stages=("extract",)))

    assert json.loads(ragq("show", f"r{run.run_id}", "--json").stdout)["scores"] is None
