"""Server-sent events: changes of runs, as they happen.

An event carries the present state of a run, so that a client may miss events. Between events a stream holds no
connection to the database.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query
from sse_starlette import EventSourceResponse, ServerSentEvent

from api.context import ApiContext, Context
from api.event_streams import POLL_SECONDS, CountedStream, event, stream_responses
from api.parameters import PathId
from api.problems import problem_responses
from api.rest.bodies.runs import (
    ActionReply,
    AttemptAndCallsReply,
    AttemptReply,
    AttemptsReply,
    CallReply,
    JobLine,
    JobReply,
    NoteBody,
)
from api.rest.runs import act
from schemas.errors import JobMissingError, Refused, RunMissingError
from schemas.values.runs import Target
from services.runs import Action
from store.database import Connection
from store.questions import queries
from store.runs import attempts, call_costs, forks, jobs, stored_runs
from store.runs.call_costs import CallUse
from store.runs.run_view import job_view
from store.views import RunState

router = APIRouter(tags=["events"])

#: Shortest time between two events of a run, and of all runs.
RUN_SECONDS: Final = 0.25
RUNS_SECONDS: Final = 1.0
#: Reading the state of a large run takes long: the next read waits this many times as long as the last one took.
PAUSE_FACTOR: Final = 4.0

CHANGED: Final = "changed"
IDLE: Final = "idle"


@router.get(
    "/runs/{run_id}/events",
    summary="Watch a run",
    response_class=EventSourceResponse,
    responses=stream_responses(
        CHANGED,
        IDLE,
        example='event: changed\r\ndata: {"run": 12, "states": {"running": 1}, "stages_done": 3, "stages": 8, '
        '"seconds_left": 4.1, "is_idle": false}\r\n\r\n',
        problems=(404, 422, 503),
    ),
)
async def watch_run(run_id: PathId, ctx: Context) -> EventSourceResponse:
    """Event `changed` at once and whenever a job of the run changes, at most four times a second; event `idle` when no
    job is unfinished. The stream stays open, and continues after a retry."""
    async with ctx.database.connection() as connection:
        if not await stored_runs.exists(connection, run_id=run_id):
            raise RunMissingError(run_id)
    return CountedStream(ctx.streams, _changes_of(ctx, run_id))


@router.get(
    "/events",
    summary="Watch all runs",
    response_class=EventSourceResponse,
    responses=stream_responses(
        CHANGED, example='event: changed\r\ndata: {"runs": [12], "may_be_more": false}\r\n\r\n', problems=(503,)
    ),
)
async def watch_runs(ctx: Context) -> EventSourceResponse:
    """Event `changed` at once and whenever runs change, at most once a second, with the numbers of those runs.
    With `may_be_more`, others may have changed too."""
    return CountedStream(ctx.streams, _changed_runs(ctx))


async def _changes_of(ctx: ApiContext, run_id: int) -> AsyncIterator[ServerSentEvent]:
    sent: RunState | None = None
    async with ctx.changes.subscribe(run_id=run_id) as subscription:
        change = None
        clock = asyncio.get_running_loop().time
        began = clock()
        while (state := await ctx.streams.state(run_id)) is not None:
            took_s = clock() - began
            if change is not None or not _is_same(sent, state):
                yield event(CHANGED, _summary(state))
                if state.is_idle and (sent is None or not sent.is_idle):
                    yield event(IDLE, _summary(state))
                sent = state
                await asyncio.sleep(max(RUN_SECONDS, PAUSE_FACTOR * took_s))
            change = await subscription.next(POLL_SECONDS)
            began = clock()


async def _changed_runs(ctx: ApiContext) -> AsyncIterator[ServerSentEvent]:
    async with ctx.changes.subscribe() as subscription:
        yield event(CHANGED, {"runs": [], "may_be_more": False})
        while True:
            await asyncio.sleep(RUNS_SECONDS)
            if (change := await subscription.next(POLL_SECONDS)) is not None:
                yield event(CHANGED, {"runs": sorted(change.runs), "may_be_more": change.may_be_more})


def _is_same(sent: RunState | None, state: RunState) -> bool:
    return sent is not None and replace(sent, seconds_left=None) == replace(state, seconds_left=None)


def _summary(state: RunState) -> dict[str, Any]:
    return {
        "run": state.run_id,
        "states": state.states,
        "stages_done": state.stages_done,
        "stages": state.stages,
        "seconds_left": state.seconds_left,
        "is_idle": state.is_idle,
    }


jobs_router = APIRouter(prefix="/jobs", tags=["jobs"])

StageName = Annotated[str, Path(pattern="^[a-z_]{1,40}$", examples=["embed"])]
Number = Annotated[int, Path(ge=1, le=2**31 - 1, examples=[1])]
Outputs = Annotated[
    bool, Query(description="Include outputs, prompts, replies and private details of errors, which contain text.")
]


@jobs_router.get("/{job_id}", summary="Show a job", responses=problem_responses(404, 422))
async def show_job(job_id: PathId, ctx: Context) -> JobReply:
    """A job: its state, its stages, what was kept, its calls of models, and its error."""
    async with ctx.database.connection() as connection:
        job = await jobs.job(connection, job_id)
        view = await job_view(connection, job_id)
        query = await queries.of_job(connection, job_id)
        parent_job_id = await forks.parent_job(connection, job_id)
    if job is None or view is None:
        raise JobMissingError(job_id)
    return JobReply(
        **JobLine.model_validate(view).model_dump(),
        run_id=job.run_id,
        kind=job.kind,
        is_idle=not view.status.is_open,
        query_id=None if query is None else query.id,
        parent_job_id=parent_job_id,
        created_at=job.created_at,
        finished_at=job.finished_at,
    )


@jobs_router.get("/{job_id}/attempts", summary="List the attempts of a job", responses=problem_responses(404, 422))
async def list_attempts(
    job_id: PathId,
    ctx: Context,
    stage: Annotated[str | None, Query(pattern="^[a-z_]{1,40}$", examples=["embed"])] = None,
    outputs: Outputs = False,
) -> AttemptsReply:
    """Every attempt of a job, or of one of its stages, oldest first. Attempts are never deleted by themselves."""
    async with ctx.database.connection() as connection:
        await _refuse_unknown(connection, job_id)
        found = await attempts.history(connection, job_id, stage, with_outputs=outputs)
    return AttemptsReply(job_id=job_id, attempts=[AttemptReply.model_validate(attempt) for attempt in found])


@jobs_router.get(
    "/{job_id}/attempts/{stage}/{number}", summary="Show an attempt", responses=problem_responses(404, 422)
)
async def show_attempt(
    job_id: PathId, stage: StageName, number: Number, ctx: Context, outputs: Outputs = False
) -> AttemptAndCallsReply:
    """One attempt of a stage, with its calls of language models."""
    async with ctx.database.connection() as connection:
        await _refuse_unknown(connection, job_id)
        found = await attempts.history(connection, job_id, stage, number=number, with_outputs=outputs)
        if not found:
            raise Refused(
                f"Job j{job_id} has no attempt {number} of this stage; `ragq inspect j{job_id}` lists all.",
                slug="attempt-missing",
            )
        (attempt,) = found
        calls = (await call_costs.of_attempts(connection, [attempt.id]))[attempt.id]
    return AttemptAndCallsReply(
        **AttemptReply.model_validate(attempt).model_dump(),
        job_id=job_id,
        calls=[_call(call, with_texts=outputs) for call in calls],
    )


@jobs_router.post("/{job_id}/retry", summary="Retry a job", responses=problem_responses(404, 409, 422))
async def retry_job(job_id: PathId, ctx: Context) -> ActionReply:
    """Continue a failed or poisoned job at the stage that failed."""
    return await act(ctx, Target(None, job_id), Action.RETRY)


@jobs_router.post("/{job_id}/resume", summary="Resume a job", responses=problem_responses(404, 409, 422))
async def resume_job(job_id: PathId, ctx: Context) -> ActionReply:
    """Continue a paused job."""
    return await act(ctx, Target(None, job_id), Action.RESUME)


@jobs_router.post("/{job_id}/pause", summary="Pause a job", responses=problem_responses(404, 409, 422))
async def pause_job(job_id: PathId, ctx: Context, body: NoteBody | None = None) -> ActionReply:
    """Pause an unfinished job. A stage that is running finishes and is stored."""
    return await act(ctx, Target(None, job_id), Action.PAUSE, body)


@jobs_router.post("/{job_id}/cancel", summary="Cancel a job", responses=problem_responses(404, 409, 422))
async def cancel_job(job_id: PathId, ctx: Context, body: NoteBody | None = None) -> ActionReply:
    """Cancel an unfinished or paused job. Stored outputs are kept."""
    return await act(ctx, Target(None, job_id), Action.CANCEL, body)


async def _refuse_unknown(connection: Connection, job_id: int) -> None:
    if not await stored_runs.exists(connection, job_id=job_id):
        raise JobMissingError(job_id)


def _call(call: CallUse, *, with_texts: bool) -> CallReply:
    reply = CallReply.model_validate(call)
    return reply if with_texts else reply.model_copy(update={"request": None, "reply": None})
