"""Evaluations: runs whose jobs judge the answers of another run."""

from typing import Any, Final

from fastapi import APIRouter, Response

from api.context import Context
from api.parameters import PathId
from api.preferences import REPLAYED, Keyed
from api.problems import problem_responses
from api.rest.bodies.runs import EvaluationBody, EvaluationSubmitted
from schemas.values.estimates import Estimate
from schemas.values.evaluations import EvaluationReport
from schemas.values.measures import RetrievalMeasures
from services.estimates import estimate
from services.evaluations import evaluate, evaluation_report, plan_evaluation
from store.database import Connection
from store.runs.runs import NewRun

router = APIRouter(prefix="/runs", tags=["runs"])

FOUND: Final[dict[int | str, dict[str, Any]]] = {
    200: {"model": EvaluationSubmitted, "description": "The same evaluation, stored before"}
}


@router.post(
    "/{run_id}/evaluations",
    summary="Evaluate the answers of a run",
    status_code=201,
    responses={**FOUND, **problem_responses(404, 409, 422)},
)
async def evaluate_answers(
    run_id: PathId, ctx: Context, body: EvaluationBody, response: Response, key: Keyed
) -> EvaluationSubmitted:
    """Judge the newest answer of each question, as a run of its own with one job for each answer."""
    found = await evaluate(ctx.database, run_id, body.values, always_new=body.always_new, key=key)
    response.status_code = 201 if found.is_new else 200
    response.headers["Location"] = f"/runs/{found.run_id}"
    response.headers.update(REPLAYED if found.is_replay else {})
    return EvaluationSubmitted(
        run_id=found.run_id,
        evaluates=run_id,
        is_new=found.is_new,
        jobs=found.jobs,
        resumed=found.resumed,
        notices=list(found.notices),
    )


@router.post(
    "/{run_id}/evaluations/estimate",
    summary="Estimate an evaluation",
    responses=problem_responses(404, 409, 422),
)
async def estimate_evaluation(run_id: PathId, ctx: Context, body: EvaluationBody) -> Estimate:
    """Jobs, model calls, tokens, seconds and money of the same body sent to `/runs/{id}/evaluations`."""

    async def plan(connection: Connection) -> NewRun:
        return (await plan_evaluation(connection, run_id, body.values)).planned.run

    return await estimate(ctx.database, plan, prices=ctx.prices)


@router.get("/{run_id}/evaluation", summary="Show an evaluation", responses=problem_responses(404, 409, 422))
async def show_evaluation(run_id: PathId, ctx: Context) -> EvaluationReport:
    """Precision and recall of citations, correctness and completeness, by a run that evaluates answers."""
    async with ctx.database.connection() as connection:
        return await evaluation_report(connection, run_id, measures=RetrievalMeasures())
