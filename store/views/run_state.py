"""The state of a run in a few numbers, as it is sent repeatedly while a run is watched."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas.errors import RunMissingError
from schemas.statuses import JobStatus
from schemas.values.query_runs import QueryRun
from schemas.values.scored_runs import ScoredRun
from store.database import Connection
from store.questions import query_runs
from store.references import due_publications
from store.runs import overviews, scored_runs, stage_times, stored_runs
from store.runs.overviews import RunOverview


@dataclass(frozen=True, kw_only=True)
class RunState:
    """A run at one moment. The counts of `states` add up to its jobs."""

    run_id: int
    states: dict[JobStatus, int]
    stages_done: int
    stages: int
    seconds_left: float | None
    """What its open jobs still need at the pace of the last minutes; None before any stage, and when idle."""
    is_idle: bool
    """No work is running, and none will start by itself."""


async def run_state(connection: Connection, run_id: int) -> RunState | None:
    """The state of a run; None when there is none of that number."""
    # All of it from one snapshot: a moment later, a run that only has to be published may have a running job again.
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        overview = await overviews.overview(connection, run_id)
        if overview is None:
            return None
        progress = await stage_times.progress(connection, run_id)
        is_idle = not overview.open_jobs and not await due_publications.is_publication_due(connection, run_id)
    return RunState(
        run_id=run_id,
        states=overview.states,
        stages_done=progress.done,
        stages=progress.stages,
        seconds_left=progress.seconds_left,
        is_idle=is_idle,
    )


async def reported_run(connection: Connection, run_id: int) -> ScoredRun | QueryRun:
    """The run. Raises RunMissingError when there is none of that number, and Refused when nothing can be reported."""
    overview = await overviews.overview(connection, run_id)
    is_query = overview is not None and overview.kind == "query"
    run = await (query_runs.query_run if is_query else scored_runs.scored_run)(connection, run_id)
    if run is None:
        raise RunMissingError(run_id)
    return run


JOBS = """
SELECT j.mode, j.subject, j.inputs, q.original_query AS question, q.reference_answer
FROM job AS j LEFT JOIN queries AS q ON q.job_id = j.id
WHERE j.run_id = $1 ORDER BY j.ordinal
"""


@dataclass(frozen=True, kw_only=True)
class SubmittedJob:
    """One job as it was submitted. A question that was edited since has its present text."""

    mode: str
    subject: str
    inputs: dict[str, Any] = field(repr=False)
    question: str | None = field(repr=False)
    reference_answer: str | None = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A run as it was submitted."""

    overview: RunOverview
    settings: dict[str, Any]
    jobs: Sequence[SubmittedJob]


async def submission(connection: Connection, run_id: int) -> Submission:
    """A run with the inputs of its jobs, in their order. Raises RunMissingError."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        overview = await overviews.get(connection, run_id)
        return Submission(
            overview=overview,
            settings=await stored_runs.settings(connection, run_id),
            jobs=[SubmittedJob(**row) for row in await connection.fetch(JOBS, run_id)],
        )
