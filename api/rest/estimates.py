"""Dry runs: what a submission would do, with the same body as the submission. Nothing is stored or sent."""

from collections.abc import Mapping

from fastapi import APIRouter

from api.context import ApiContext, Context
from api.problems import problem_responses
from api.rest.bodies.participants import ParticipantSubmission
from api.rest.bodies.rag_queries import QuerySetSubmission
from api.rest.bodies.submissions import Submission
from api.rest.bodies.tags import TagsSubmission
from api.rest.strict import StrictRoute
from schemas.values.estimates import Estimate
from services.estimates import estimate_request
from services.submit import Request

router = APIRouter(route_class=StrictRoute)


@router.post(
    "/participants/runs/estimate",
    summary="Estimate a submission of participants",
    responses=problem_responses(409, 422),
    tags=["participants"],
)
async def estimate_participants(ctx: Context, body: ParticipantSubmission) -> Estimate:
    """Jobs, model calls, tokens, seconds and money of the same body sent to `/participants/runs`.

    `missing` lists what has to be there before it can be submitted.
    """
    return await _estimate(ctx, body, body.request, body.values)


@router.post(
    "/rag/query-sets/runs/estimate",
    summary="Estimate a submission of a set of questions",
    responses=problem_responses(409, 422),
    tags=["questions"],
)
async def estimate_query_set(ctx: Context, body: QuerySetSubmission) -> Estimate:
    """Likewise of a set of questions."""
    return await _estimate(ctx, body, body.request, body.run_values)


@router.post(
    "/tags/runs/estimate",
    summary="Estimate a submission of phrases",
    responses=problem_responses(409, 422),
    tags=["tags"],
)
async def estimate_phrases(ctx: Context, body: TagsSubmission) -> Estimate:
    """Likewise of phrases."""
    return await _estimate(ctx, body, body.request, body.values)


async def _estimate(ctx: ApiContext, body: Submission, request: Request, values: Mapping[str, str]) -> Estimate:
    settings = ctx.run_settings(profile=body.profile, values=values)
    return await estimate_request(ctx.database, request, settings, draw=body.chosen_draw, prices=ctx.prices)
