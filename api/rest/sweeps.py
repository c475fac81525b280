"""Sweeps: forks of a run at every point of a grid, compared with the run; and dry runs of forks and sweeps."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response

from api.context import Context
from api.parameters import PathId, Text
from api.problems import problem_responses
from api.rest.bodies.forks import ForkBody, PointEstimateReply, SweepBody, SweepFork, SweepReply
from schemas.values.differences import Sweep
from schemas.values.estimates import Estimate
from schemas.values.runs import Target
from services.estimates import estimate_fork
from services.forks import ForkRequest
from services.sweeps import estimate_sweep, run_sweep, stored_points, sweep_results

router = APIRouter(prefix="/runs", tags=["runs"])

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


@router.post("/{run_id}/fork/estimate", summary="Estimate a fork", responses=problem_responses(404, 409, 422))
async def estimate_fork_of_run(run_id: PathId, ctx: Context, body: ForkBody) -> Estimate:
    """Jobs, model calls, tokens, seconds and money of the same body sent to `/runs/{id}/fork`."""
    request = ForkRequest(target=Target(run_id, None), stage=body.stage, values=body.values)
    return await estimate_fork(ctx.database, request, prices=ctx.prices)


@router.post("/{run_id}/sweeps", summary="Sweep a run", status_code=201, responses=problem_responses(404, 409, 422))
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


@router.post("/{run_id}/sweeps/estimate", summary="Estimate a sweep", responses=problem_responses(404, 409, 422))
async def estimate_points(run_id: PathId, ctx: Context, body: SweepBody) -> list[PointEstimateReply]:
    """What the fork at each point would do. Nothing is stored or sent."""
    found = await estimate_sweep(ctx.database, Target(run_id, None), body.stage, body.points, prices=ctx.prices)
    return [PointEstimateReply(values=dict(one.values), estimate=one.estimate) for one in found]


@router.get("/{run_id}/sweep", summary="Compare the forks of a sweep", responses=problem_responses(404, 409, 422))
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
