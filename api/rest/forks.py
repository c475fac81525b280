"""Forks: runs and jobs computed again from a stage on."""

from typing import Any, Final

from fastapi import APIRouter, Response

from api.context import ApiContext, Context
from api.parameters import PathId
from api.preferences import REPLAYED, Keyed
from api.problems import problem_responses
from api.rest.bodies.runs import (
    FamilyReply,
    ForkBody,
    ForkedReply,
    LeftOutJob,
    RedoBody,
    RedoneReply,
)
from schemas.errors import RunMissingError
from schemas.values.runs import Target
from services.forks import ForkRequest, fork
from services.runs import redo
from store.access import RequestKey
from store.runs import forks, stored_runs

router = APIRouter()

FOUND: Final[dict[int | str, dict[str, Any]]] = {
    200: {"model": ForkedReply, "description": "The same fork, stored before"}
}


@router.post(
    "/runs/{run_id}/fork",
    summary="Fork a run",
    tags=["runs"],
    status_code=201,
    responses={**FOUND, **problem_responses(404, 409, 422)},
)
async def fork_run(run_id: PathId, ctx: Context, body: ForkBody, response: Response, key: Keyed) -> ForkedReply:
    """Compute a run again from a stage on, with other settings, as a run of its own that copies the stages before.

    Jobs whose earlier stages are not stored are left out, and listed. A setting that an earlier stage reads is refused.
    """
    return await _fork(ctx, Target(run_id, None), body, response, key)


@router.post(
    "/jobs/{job_id}/fork",
    summary="Fork a job",
    status_code=201,
    responses={**FOUND, **problem_responses(404, 409, 422)},
    tags=["jobs"],
)
async def fork_job(job_id: PathId, ctx: Context, body: ForkBody, response: Response, key: Keyed) -> ForkedReply:
    """Compute one job again from a stage on, as a run of one job."""
    return await _fork(ctx, Target(None, job_id), body, response, key)


@router.post(
    "/jobs/{job_id}/redo", summary="Compute stages again", responses=problem_responses(404, 409, 422), tags=["jobs"]
)
async def redo_job(job_id: PathId, ctx: Context, body: RedoBody) -> RedoneReply:
    """Compute a stage of a job and those after it again, in the same job and with the settings of its run.

    Also of a job that succeeded. What was stored stays in its history.
    """
    return RedoneReply.model_validate(await redo(ctx.database, job_id, body.stage))


@router.get(
    "/runs/{run_id}/forks", summary="List the forks of a run", responses=problem_responses(404, 422), tags=["runs"]
)
async def list_forks(run_id: PathId, ctx: Context) -> FamilyReply:
    """The run that it was forked from, and its own forks."""
    async with ctx.database.connection() as connection:
        if not await stored_runs.exists(connection, run_id=run_id):
            raise RunMissingError(run_id)
        return FamilyReply.model_validate(await forks.family(connection, run_id))


async def _fork(
    ctx: ApiContext, target: Target, body: ForkBody, response: Response, key: RequestKey | None
) -> ForkedReply:
    request = ForkRequest(target=target, stage=body.stage, values=body.values)
    forked = await fork(ctx.database, request, always_new=body.always_new, key=key)
    submitted = forked.submitted
    response.status_code = 201 if submitted.is_new else 200
    response.headers["Location"] = f"/runs/{submitted.run_id}"
    response.headers.update(REPLAYED if submitted.is_replay else {})
    return ForkedReply(
        run_id=submitted.run_id,
        parent_id=forked.parent_id,
        is_new=submitted.is_new,
        jobs=submitted.jobs,
        resumed=submitted.resumed,
        left_out=[LeftOutJob.model_validate(one) for one in forked.left_out],
        without_stage=forked.without_stage,
    )
