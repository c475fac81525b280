"""Runs: what was submitted, its state, and actions on it."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from api.context import ApiContext, Context
from api.parameters import MAX_ID, PathId, SearchWords
from api.problems import problem_responses
from api.rest.bodies.runs import (
    ActionReply,
    DeletedRunReply,
    FamilyReply,
    JobLine,
    NoteBody,
    ProgressReply,
    ResumeBody,
    RunLine,
    RunPatch,
    RunReply,
    RunsReply,
    SettingReply,
)
from schemas.errors import RunMissingError
from schemas.statuses import JobStatus
from schemas.values.runs import RunLimits, Target
from services.runs import NO_LIMITS, Action, RunChanges, change_run, control, delete_run
from store.runs import jobs, overviews, stored_runs
from store.runs.run_view import run_view, with_origin
from store.views import run_state

router = APIRouter(prefix="/runs", tags=["runs"])

Kind = Literal["participant", "query", "tags", "index", "work", "evaluation"]
Limit = Annotated[int, Query(ge=1, le=1000, examples=[20])]
Place = Annotated[int | None, Query(ge=1, le=MAX_ID, examples=[12])]


@router.get("", summary="List runs", responses=problem_responses(422))
async def list_runs(
    ctx: Context, limit: Limit = 20, before: Place = None, kind: Kind | None = None, search: SearchWords = ""
) -> RunsReply:
    """The newest runs, newest first; with `before`, those older than that run.

    With `search`, those that match each of its words by number, name, note, kind, profile, request or state.
    """
    async with ctx.database.connection() as connection:
        found = await overviews.overviews(connection, limit=limit, before=before, kind=kind, search=search)
    return RunsReply(
        runs=[RunLine.model_validate(overview) for overview in found],
        next_before=found[-1].id if len(found) == limit else None,
    )


@router.get("/{run_id}", summary="Show a run", responses=problem_responses(404, 422))
async def show_run(
    run_id: PathId, ctx: Context, jobs_limit: Limit = 100, after: Place = None, status: JobStatus | None = None
) -> RunReply:
    """A run and its jobs with their stages, in the order of submission; those after job `after`, or in one state."""
    async with ctx.database.connection() as connection:
        state = await run_state(connection, run_id)
        job_ids = await jobs.in_order(connection, run_id, status=status, after=after, limit=jobs_limit)
        view = await run_view(connection, run_id, job_ids=job_ids)
        if view is None or state is None:
            raise RunMissingError(run_id)
        view = await with_origin(connection, view)
    return RunReply(
        run=RunLine.model_validate(view.overview),
        progress=ProgressReply.model_validate(state),
        jobs=[JobLine.model_validate(job) for job in view.jobs],
        limits=view.limits,
        origin=view.origin,
        family=FamilyReply.model_validate(view.family),
        next_after=job_ids[-1] if len(job_ids) == jobs_limit else None,
    )


@router.patch("/{run_id}", summary="Name, annotate or prioritise a run", responses=problem_responses(404, 409, 422))
async def patch_run(run_id: PathId, ctx: Context, body: RunPatch) -> RunLine:
    """Change the name, the note or the priority of a run, or several of them."""
    changes: RunChanges = {}
    if "name" in body.model_fields_set:
        changes["name"] = body.name
    if "note" in body.model_fields_set:
        changes["note"] = body.note
    if "priority" in body.model_fields_set:
        changes["priority"] = body.priority
    async with ctx.database.connection() as connection:
        await change_run(connection, run_id, changes)
        return RunLine.model_validate(await overviews.overview(connection, run_id))


@router.delete("/{run_id}", summary="Delete a run", responses=problem_responses(404, 409, 422))
async def remove_run(run_id: PathId, ctx: Context) -> DeletedRunReply:
    """Delete a finished run with its jobs and all that they stored, its questions, answers and phrases.

    Model calls that other runs used are kept, and so are reference indexes, vectors and chunk scores that the run
    published. Its forks stay.
    """
    async with ctx.database.connection() as connection:
        return DeletedRunReply.model_validate(await delete_run(connection, run_id))


@router.get("/{run_id}/settings", summary="Show the settings of a run", responses=problem_responses(404, 422))
async def show_run_settings(run_id: PathId, ctx: Context) -> dict[str, SettingReply]:
    """Every setting that the run was submitted with, and its source."""
    async with ctx.database.connection() as connection:
        if not await stored_runs.exists(connection, run_id=run_id):
            raise RunMissingError(run_id)
        frozen = await stored_runs.settings(connection, run_id)
    return {name: SettingReply(**entry) for name, entry in frozen.items()}


@router.post("/{run_id}/retry", summary="Retry a run", responses=problem_responses(404, 409, 422))
async def retry_run(run_id: PathId, ctx: Context) -> ActionReply:
    """Continue failed and poisoned jobs at the stage that failed. Stored outputs and replies are reused."""
    return await act(ctx, Target(run_id, None), Action.RETRY)


@router.post("/{run_id}/resume", summary="Resume a run", responses=problem_responses(404, 409, 422))
async def resume_run(run_id: PathId, ctx: Context, body: ResumeBody | None = None) -> ActionReply:
    """Continue paused jobs, with other limits of the run where they are given."""
    return await act(ctx, Target(run_id, None), Action.RESUME, limits=_limits(body))


@router.post("/{run_id}/pause", summary="Pause a run", responses=problem_responses(404, 409, 422))
async def pause_run(run_id: PathId, ctx: Context, body: NoteBody | None = None) -> ActionReply:
    """Pause unfinished jobs. Stages that are running finish and are stored."""
    return await act(ctx, Target(run_id, None), Action.PAUSE, body)


@router.post("/{run_id}/cancel", summary="Cancel a run", responses=problem_responses(404, 409, 422))
async def cancel_run(run_id: PathId, ctx: Context, body: NoteBody | None = None) -> ActionReply:
    """Cancel unfinished and paused jobs. Stored outputs are kept."""
    return await act(ctx, Target(run_id, None), Action.CANCEL, body)


def _limits(body: ResumeBody | None) -> RunLimits:
    return NO_LIMITS if body is None else RunLimits(**body.model_dump())


async def act(
    ctx: ApiContext,
    target: Target,
    action: Action,
    body: NoteBody | None = None,
    *,
    limits: RunLimits = NO_LIMITS,
) -> ActionReply:
    """Carry out an action and return its result."""
    note = None if body is None else body.note
    done = await control(ctx.database, target, action, note=note, limits=limits)
    return ActionReply(action=action, job_ids=done.job_ids)
