"""Participant runs: submitted with the same checks as by `ragq submit`."""

from fastapi import APIRouter, Response

from api.context import Context
from api.preferences import Keyed
from api.problems import problem_responses
from api.rest.bodies.participants import ParticipantSubmission, SplitLine
from api.rest.bodies.submissions import SubmittedReply
from api.rest.strict import StrictRoute
from api.rest.submitted import SUBMITTED, submit_body
from store.references import interviews

router = APIRouter(prefix="/participants", tags=["participants"], route_class=StrictRoute)


@router.get("/splits", summary="List splits")
async def list_splits(ctx: Context) -> list[SplitLine]:
    """Every stored split, by name."""
    async with ctx.database.connection() as connection:
        return [SplitLine.model_validate(split) for split in await interviews.split_sizes(connection)]


@router.post(
    "/runs",
    summary="Submit participants",
    status_code=201,
    responses=SUBMITTED | problem_responses(409, 422),
)
async def submit_participants(
    ctx: Context, key: Keyed, body: ParticipantSubmission, response: Response
) -> SubmittedReply:
    """Store a run of one job per participant and mode, and send it.

    The same work submitted again is the same run, whose failed jobs continue: 200 instead of 201. 409 when the request
    is refused, for example because the reference index contains participants of the split; the detail has the reason
    and what to do.
    """
    return await submit_body(ctx, key, body, body.request, response)
