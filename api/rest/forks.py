"""Forks: runs and jobs computed again from a stage on."""

from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response

from api.context import ApiContext, Context
from api.parameters import PathId, Text
from api.preferences import REPLAYED, Keyed
from api.problems import problem_responses
from api.rest.bodies.runs import (
    FamilyReply,
    ForkBody,
    ForkedReply,
    LeftOutJob,
    PointEstimateReply,
    RedoBody,
    RedoneReply,
    SweepBody,
    SweepFork,
    SweepReply,
)
from schemas.errors import RunMissingError
from schemas.values.differences import Sweep
from schemas.values.estimates import Estimate
from schemas.values.runs import Target
from services.estimates import estimate_fork
from services.forks import ForkRequest, fork
from services.runs import redo
from services.several_runs import estimate_sweep, run_sweep, stored_points, sweep_results
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


sweeps_router = APIRouter(prefix="/runs", tags=["runs"])

StageQuery = Annotated[Text, Query(pattern="^[a-z_]{1,40}$", description="The stage of the forks", examples=["rerank"])]
SettingNames = Annotated[
    list[Annotated[Text, Query(max_length=100)]],
    Query(
        min_length=1,
        max_length=20,
        description="The settings of the grid",
        examples=[["EMBEDDING_MIN_REFERENCE_SIMILARITY"]],
    ),
]
SplitName = Annotated[Text | None, Query(max_length=100, description="A split of participants", examples=[None])]
MeasureName = Annotated[
    Text | None, Query(max_length=100, description="The measure of the best point", examples=[None])
]


@sweeps_router.post("/{run_id}/fork/estimate", summary="Estimate a fork", responses=problem_responses(404, 409, 422))
async def estimate_fork_of_run(run_id: PathId, ctx: Context, body: ForkBody) -> Estimate:
    """Jobs, model calls, tokens, seconds and money of the same body sent to `/runs/{id}/fork`."""
    request = ForkRequest(target=Target(run_id, None), stage=body.stage, values=body.values)
    return await estimate_fork(ctx.database, request, prices=ctx.prices)


@sweeps_router.post(
    "/{run_id}/sweeps", summary="Sweep a run", status_code=201, responses=problem_responses(404, 409, 422)
)
async def sweep(run_id: PathId, ctx: Context, body: SweepBody, response: Response) -> SweepReply:
    """A fork of the run at each point of a grid. The same sweep again finds the forks that are stored."""
    points = body.points
    made = await run_sweep(ctx.database, Target(run_id, None), body.stage, points, wait=False)
    results = f"/runs/{run_id}/sweep?" + urlencode([("stage", body.stage), *(("setting", name) for name in body.grid)])
    response.headers["Location"] = results
    return SweepReply(
        parent_id=run_id,
        results=results,
        forks=[
            SweepFork(
                run_id=one.forked.submitted.run_id,
                is_new=one.forked.submitted.is_new,
                jobs=one.forked.submitted.jobs,
                values=dict(one.values),
            )
            for one in made
        ],
    )


@sweeps_router.post("/{run_id}/sweeps/estimate", summary="Estimate a sweep", responses=problem_responses(404, 409, 422))
async def estimate_points(run_id: PathId, ctx: Context, body: SweepBody) -> list[PointEstimateReply]:
    """What the fork at each point would do. Nothing is stored or sent."""
    found = await estimate_sweep(ctx.database, Target(run_id, None), body.stage, body.points, prices=ctx.prices)
    return [PointEstimateReply(values=dict(one.values), estimate=one.estimate) for one in found]


@sweeps_router.get(
    "/{run_id}/sweep", summary="Compare the forks of a sweep", responses=problem_responses(404, 409, 422)
)
async def show_sweep(
    run_id: PathId,
    ctx: Context,
    stage: StageQuery,
    setting: SettingNames,
    measure: MeasureName = None,
    select_on: SplitName = None,
    report_on: SplitName = None,
) -> Sweep:
    """The forks of a run from a stage that set these settings, compared with the run: paired differences with their
    95 % intervals, and with intervals that are corrected for the number of points. The best point is chosen on the
    subjects that it is reported on, unless two splits are named."""
    points = await stored_points(ctx.database, run_id, stage, setting)
    return await sweep_results(
        ctx.database, run_id, stage, points, measure=measure, select_on=select_on, report_on=report_on
    )
