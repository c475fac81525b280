"""Jobs: the state of each, every attempt of its stages, and actions on it."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from api.context import Context
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
from schemas.errors import JobMissingError, Refused
from schemas.values.runs import Target
from services.runs import Action
from store.database import Connection
from store.questions import queries
from store.runs import attempts, call_uses, forks, jobs, stored_runs
from store.runs.call_uses import CallUse
from store.runs.run_view import job_view

router = APIRouter(prefix="/jobs", tags=["jobs"])

StageName = Annotated[str, Path(pattern="^[a-z_]{1,40}$", examples=["embed"])]
Number = Annotated[int, Path(ge=1, le=2**31 - 1, examples=[1])]
Outputs = Annotated[
    bool, Query(description="Include outputs, prompts, replies and private details of errors, which contain text.")
]


@router.get("/{job_id}", summary="Show a job", responses=problem_responses(404, 422))
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


@router.get("/{job_id}/attempts", summary="List the attempts of a job", responses=problem_responses(404, 422))
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


@router.get("/{job_id}/attempts/{stage}/{number}", summary="Show an attempt", responses=problem_responses(404, 422))
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
        calls = (await call_uses.of_attempts(connection, [attempt.id]))[attempt.id]
    return AttemptAndCallsReply(
        **AttemptReply.model_validate(attempt).model_dump(),
        job_id=job_id,
        calls=[_call(call, with_texts=outputs) for call in calls],
    )


@router.post("/{job_id}/retry", summary="Retry a job", responses=problem_responses(404, 409, 422))
async def retry_job(job_id: PathId, ctx: Context) -> ActionReply:
    """Continue a failed or poisoned job at the stage that failed."""
    return await act(ctx, Target(None, job_id), Action.RETRY)


@router.post("/{job_id}/resume", summary="Resume a job", responses=problem_responses(404, 409, 422))
async def resume_job(job_id: PathId, ctx: Context) -> ActionReply:
    """Continue a paused job."""
    return await act(ctx, Target(None, job_id), Action.RESUME)


@router.post("/{job_id}/pause", summary="Pause a job", responses=problem_responses(404, 409, 422))
async def pause_job(job_id: PathId, ctx: Context, body: NoteBody | None = None) -> ActionReply:
    """Pause an unfinished job. A stage that is running finishes and is stored."""
    return await act(ctx, Target(None, job_id), Action.PAUSE, body)


@router.post("/{job_id}/cancel", summary="Cancel a job", responses=problem_responses(404, 409, 422))
async def cancel_job(job_id: PathId, ctx: Context, body: NoteBody | None = None) -> ActionReply:
    """Cancel an unfinished or paused job. Stored outputs are kept."""
    return await act(ctx, Target(None, job_id), Action.CANCEL, body)


async def _refuse_unknown(connection: Connection, job_id: int) -> None:
    if not await stored_runs.exists(connection, job_id=job_id):
        raise JobMissingError(job_id)


def _call(call: CallUse, *, with_texts: bool) -> CallReply:
    reply = CallReply.model_validate(call)
    return reply if with_texts else reply.model_copy(update={"request": None, "reply": None})
