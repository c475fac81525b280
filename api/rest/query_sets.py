"""Sets of questions: submitted with the same checks as by `ragq submit --queries`."""

from fastapi import APIRouter, Response

from api.context import Context
from api.preferences import Keyed
from api.problems import problem_responses
from api.rest.bodies.rag_queries import QuerySetSubmission
from api.rest.bodies.submissions import SubmittedReply
from api.rest.strict import StrictRoute
from api.rest.submitted import SUBMITTED, submit_body

router = APIRouter(prefix="/rag/query-sets", tags=["questions"], route_class=StrictRoute)


@router.post(
    "/runs",
    summary="Submit a set of questions",
    status_code=201,
    responses=SUBMITTED | problem_responses(404, 409, 422),
)
async def submit_query_set(ctx: Context, key: Keyed, body: QuerySetSubmission, response: Response) -> SubmittedReply:
    """Store a run of one job per question, and send it. Nothing waits: the events of the run report its progress.

    The same set submitted again is the same run, whose failed jobs continue: 200 instead of 201.
    """
    return await submit_body(ctx, key, body, body.request, response, values=body.run_values)
