"""Runs and jobs: what was submitted, its state, every attempt, and actions on it."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field, StringConstraints
from starlette.convertors import StringConvertor, register_url_convertor

from api.context import Context
from api.parameters import PathId
from api.rest.bodies.base import Body, Reply, with_example
from schemas.errors import Refused, RunMissingError
from schemas.statuses import JobStatus
from schemas.values.base import MAX_ID, Text
from schemas.values.requests import RunChanges, RunsWanted
from schemas.values.runs import RunLimits, RunLimitState, RunOrigin, SettingValue, Target
from services.runs import Action, ControlResult, change_run, control, delete_run, redo
from store.questions import queries
from store.runs import forks, jobs, overviews, runs
from store.runs.batches import Waiting
from store.runs.deletions import DeletedRun
from store.runs.forks import Family
from store.runs.notifications import Notification
from store.runs.overviews import RunOverview
from store.runs.run_view import JobView, job_view, run_view, with_origin
from store.views import AttemptTrace, RunState, attempt_traces, run_state

Limit = Annotated[int, Query(ge=1, le=1000, examples=[20])]
Place = Annotated[int | None, Query(ge=1, le=MAX_ID, examples=[12])]
StageText = Annotated[Text, Field(pattern="^[a-z_]{1,40}$", examples=["rerank"])]
StageName = Annotated[str, Path(pattern="^[a-z_]{1,40}$", examples=["embed"])]
Number = Annotated[int, Path(ge=1, le=2**31 - 1, examples=[1])]
Outputs = Annotated[
    bool, Query(description="Include outputs, prompts, replies and private details of errors, which contain text.")
]


class _ActionConvertor(StringConvertor):
    """An action of an address: of the other addresses below a run or a job, POST is no method."""

    regex = "|".join(Action)


register_url_convertor("action", _ActionConvertor())


class RunsReply(Reply):
    """Runs, newest first."""

    runs: list[RunOverview]
    next_before: int | None
    """`before` for the next page; null after the last."""


class RunReply(Reply):
    """A run with some of its jobs, in the order of submission."""

    run: RunOverview
    progress: RunState
    jobs: list[JobView]
    limits: RunLimitState | None
    """Its limits and what counts towards them; null for a run without any."""
    origin: RunOrigin
    """Where it was submitted and computed: versions, commits, hardware, models and servers."""
    family: Family
    """What it was forked from, and its forks."""
    batches: Waiting | None
    """The batches of calls of language models that its stages wait for; null where calls are sent singly."""
    notification: Notification | None
    """Who is told when it has finished or is paused; null when nobody is."""
    next_after: int | None
    """`after` for the next page; null after the last."""


class JobReply(JobView):
    """A job by itself, as at the Location of a 202."""

    run_id: int = Field(examples=[12])
    kind: str = Field(examples=["query"])
    is_idle: bool
    """Nothing runs by itself: the job has finished, or waits for an action."""
    query_id: int | None
    """The question that it answers; null for jobs of other kinds."""
    parent_job_id: int | None
    """The job that it was forked from; null for a job of no fork, and when that one is deleted."""
    created_at: datetime
    finished_at: datetime | None


class AttemptsReply(Reply):
    """Attempts of a job, oldest first, each with its calls of language models."""

    attempts: list[AttemptTrace]


class RunPatch(RunChanges, Body):
    """Changes of a run. A field that is absent stays as it is; null removes the name or the note."""

    model_config = with_example(name="baseline", note="the threshold of the paper")


class ActionBody(Body, RunLimits):
    """What an action takes: a reason, the stage that a retry begins with, or limits in place of those of the run."""

    model_config = with_example(note="the GPU is needed elsewhere")

    note: Annotated[Text, StringConstraints(max_length=1000)] | None = Field(default=None, repr=False)
    """The reason of `pause` and `cancel`; shown with the jobs."""
    stage: StageText | None = None
    """The first stage that `retry` of a job computes again, also of one that succeeded."""


router = APIRouter(prefix="/runs", tags=["runs"])
jobs_router = APIRouter(prefix="/jobs", tags=["jobs"])


@router.get("")
async def list_runs(ctx: Context, wanted: Annotated[RunsWanted, Query()]) -> RunsReply:
    """The newest runs, newest first."""
    found = await ctx.database.once(overviews.overviews, **dict(wanted))
    return RunsReply(runs=found, next_before=found[-1].id if len(found) == wanted.limit else None)


@router.get("/{run_id}")
async def show_run(
    run_id: PathId, ctx: Context, jobs_limit: Limit = 100, after: Place = None, status: JobStatus | None = None
) -> RunReply:
    """A run and its jobs with their stages, in the order of submission; those after job `after`, or in one state."""
    async with ctx.database.connection() as connection:
        state = await run_state(connection, run_id)
        job_ids = await jobs.in_order(connection, run_id, status=status, after=after, limit=jobs_limit)
        view = await run_view(connection, run_id, job_ids=job_ids)
        view = await with_origin(connection, view)
    return RunReply(
        run=view.overview,
        progress=state,
        jobs=view.jobs,
        limits=view.limits,
        origin=view.origin,
        family=view.family,
        batches=view.batches,
        notification=view.notification,
        next_after=job_ids[-1] if len(job_ids) == jobs_limit else None,
    )


@router.patch("/{run_id}")
async def patch_run(run_id: PathId, ctx: Context, body: RunPatch) -> RunOverview:
    """Change the name, the note or the priority of a run, or several of them."""
    async with ctx.database.connection() as connection:
        await change_run(connection, run_id, body)
        return await overviews.get(connection, run_id)


@router.delete("/{run_id}")
async def remove_run(run_id: PathId, ctx: Context) -> DeletedRun:
    """Delete a finished run with its jobs and all that they stored, its questions, answers and phrases.

    Model calls that other runs used are kept, and so are reference indexes, vectors and chunk scores that the run
    published. Its forks stay.
    """
    return await ctx.database.once(delete_run, run_id)


@router.get("/{run_id}/settings")
async def show_run_settings(run_id: PathId, ctx: Context) -> dict[str, SettingValue]:
    """Every setting that the run was submitted with, and its source."""
    async with ctx.database.connection() as connection:
        if not await runs.exists(connection, run_id=run_id):
            raise RunMissingError(run_id)
        return await runs.settings(connection, run_id)


@router.post("/{run_id}/{action:action}")
async def act_on_run(run_id: PathId, action: Action, ctx: Context, body: ActionBody | None = None) -> ControlResult:
    """Retry failed jobs, pause unfinished ones, resume paused ones, or cancel both.

    Stored outputs and replies are kept; a stage that is running finishes and is stored.
    """
    asked = body or ActionBody()
    limits = RunLimits(**asked.model_dump(include=set(RunLimits.model_fields)))
    return await control(ctx.database, Target(run_id, None), action, note=asked.note, limits=limits)


@jobs_router.get("/{job_id}")
async def show_job(job_id: PathId, ctx: Context) -> JobReply:
    """A job: its state, its stages, what was kept, its calls of models, and its error."""
    async with ctx.database.connection() as connection:
        job = await jobs.get(connection, job_id)
        view = await job_view(connection, job_id)
        query = await queries.of_job(connection, job_id)
        parent_job_id = await forks.parent_job(connection, job_id)
    return JobReply(
        **vars(view),
        run_id=job.run_id,
        kind=job.kind,
        is_idle=not view.status.is_open,
        query_id=None if query is None else query.id,
        parent_job_id=parent_job_id,
        created_at=job.created_at,
        finished_at=job.finished_at,
    )


@jobs_router.get("/{job_id}/attempts")
async def list_attempts(
    job_id: PathId,
    ctx: Context,
    stage: Annotated[str | None, Query(pattern="^[a-z_]{1,40}$", examples=["embed"])] = None,
    outputs: Outputs = False,
) -> AttemptsReply:
    """Every attempt of a job, or of one of its stages, oldest first. Attempts are never deleted by themselves."""
    async with ctx.database.connection() as connection:
        await jobs.get(connection, job_id)
        return AttemptsReply(attempts=await attempt_traces(connection, job_id, stage, with_texts=outputs))


@jobs_router.get("/{job_id}/attempts/{stage}/{number}")
async def show_attempt(
    job_id: PathId, stage: StageName, number: Number, ctx: Context, outputs: Outputs = False
) -> AttemptTrace:
    """One attempt of a stage, with its calls of language models."""
    async with ctx.database.connection() as connection:
        await jobs.get(connection, job_id)
        found = await attempt_traces(connection, job_id, stage, number=number, with_texts=outputs)
    if not found:
        raise Refused(
            f"Job j{job_id} has no attempt {number} of this stage; `ragq inspect j{job_id}` lists all.",
            slug="attempt-missing",
        )
    return found[0]


@jobs_router.post("/{job_id}/{action:action}")
async def act_on_job(job_id: PathId, action: Action, ctx: Context, body: ActionBody | None = None) -> ControlResult:
    """As on a run. `retry` with a stage computes it and those after it again, by the settings of the run; what was
    stored stays in its history."""
    asked = body or ActionBody()
    if action is Action.RETRY and asked.stage is not None:
        await redo(ctx.database, job_id, asked.stage)
        return ControlResult(job_ids=[job_id])
    return await control(ctx.database, Target(None, job_id), action, note=asked.note)
