"""A run as a table in the terminal."""

import io
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from cli.drawing import Trimmed
from cli.run_table import LISTED_JOBS, run_details, run_table
from schemas.chains import stages_of
from schemas.statuses import JobStatus, StageStatus
from schemas.values.failures import StageFailure
from store.runs.overviews import RunOverview
from store.runs.run_view import JobView, RunView
from store.runs.stage_runs import StageRun

NOON = datetime(2026, 1, 9, 12, tzinfo=UTC)
ERROR = StageFailure(stage="score", attempt=1, type="E", message="it broke", category="unknown")


def job(job_id: int, status: JobStatus, error: StageFailure | None = None) -> JobView:
    return JobView(
        job_id=job_id,
        mode="chunk_scores",
        subject=str(job_id),
        status=status,
        note=None,
        stages=[],
        kept={},
        rejected={},
        llm_paid=0,
        llm_reused=0,
        error=error,
    )


def in_mode(mode: str, job_id: int) -> JobView:
    """A job whose every stage is done."""
    stages = [
        StageRun(stage=name, status=StageStatus.DONE, attempts=1, seconds=1.0)
        for name in stages_of("participant", mode)
    ]
    return replace(job(job_id, JobStatus.SUCCEEDED), mode=mode, stages=stages)


def shown(
    jobs: list[JobView],
    *,
    kind: str = "index",
    request: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    profile: str = "paper",
    cut_texts: int = 0,
    width: int = 160,
) -> str:
    overview = RunOverview(
        id=12,
        kind=kind,
        profile=profile,
        identity="i",
        request=request or {},
        version="0",
        settings_hash="s",
        created_at=NOON,
        finished_at=None,
        jobs=len(jobs),
        states={},
    )
    screen = Console(file=io.StringIO(), width=width)
    view = RunView(overview=overview, read_at=NOON, jobs=jobs, settings=settings or {}, cut_texts=cut_texts)
    screen.print(Trimmed(run_table(view)), Trimmed(run_details(view)))
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def test_of_thousands_of_index_jobs_those_that_failed_are_listed_first() -> None:
    waiting = [job(number, JobStatus.WAITING) for number in range(1, 2001)]
    done = [job(number, JobStatus.SUCCEEDED) for number in range(2001, 2501)]

    text = shown([*waiting, *done, job(3000, JobStatus.FAILED, ERROR)])

    listed = [line.split()[0] for line in text.splitlines() if "chunk_scores" in line]
    assert listed == ["j3000", *(f"j{number}" for number in range(1, LISTED_JOBS))]
    assert f"and {2501 - LISTED_JOBS} more; --json has all of them" in text
    assert "j3000 score attempt 1: it broke (unknown)" in text
    assert "`ragq inspect JOB STAGE` shows the details; `ragq retry r12` continues from the failed stage." in text


@pytest.mark.parametrize("modes", [("zero_shot", "few_shot"), ("few_shot", "zero_shot")])
def test_the_stages_of_a_run_in_two_modes_are_in_the_order_of_the_longer_chain(modes: tuple[str, str]) -> None:
    text = shown([in_mode(mode, number) for number, mode in enumerate(modes, start=1)], kind="participant")
    narrow = shown([in_mode(mode, 1) for mode in modes], kind="participant", width=80)

    order = ["extract", "embed", "retrieve", "rerank", "validate", "assemble", "score"]
    assert next(line.split() for line in text.splitlines() if line.startswith("job"))[4:11] == order
    assert f"stages: {', '.join(order)}" in narrow


def test_every_job_of_another_run_is_listed() -> None:
    text = shown([job(number, JobStatus.SUCCEEDED) for number in range(1, 101)], kind="participant")

    assert sum(line.startswith("j") for line in text.splitlines()) == 101
