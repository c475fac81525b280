"""Tags runs: phrases submitted to a vocabulary, and the candidates that they led to."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from api.context import Context
from api.parameters import PathId
from api.preferences import Keyed
from api.problems import problem_responses
from api.rest.bodies.submissions import SubmittedReply
from api.rest.bodies.tags import TagsRunReply, TagsSetReply, TagsSubmission
from api.rest.strict import StrictRoute
from api.rest.submitted import SUBMITTED, submit_body
from schemas.errors import RunMissingError
from store.vocabularies import tag_runs

router = APIRouter(prefix="/tags", tags=["tags"], route_class=StrictRoute)


@router.post("/runs", summary="Submit phrases", status_code=201, responses=SUBMITTED | problem_responses(404, 409, 422))
async def submit_phrases(ctx: Context, key: Keyed, body: TagsSubmission, response: Response) -> SubmittedReply:
    """Store a run of one job per set of phrases, and send it.

    The same work submitted again is the same run: 200 instead of 201. 409 when the vocabulary has no models yet.
    """
    return await submit_body(ctx, key, body, body.request, response)


@router.get("/runs/{run_id:int}", summary="Show the candidates of a run", responses=problem_responses(404, 422))
async def show_candidates(
    run_id: PathId,
    ctx: Context,
    verbose: Annotated[
        bool, Query(description="Add for each phrase every tag that was found, before the cut.")
    ] = False,
    phrase_ranks: Annotated[bool, Query(description="Add the best rank that each candidate has for a phrase.")] = False,
) -> TagsRunReply:
    """What each set of phrases led to, in one of four shapes; null for a set that is not finished, or failed."""
    async with ctx.database.connection() as connection:
        found = await tag_runs.results(connection, run_id=run_id)
    if not found:
        raise RunMissingError(run_id)
    return TagsRunReply(
        run_id=run_id,
        sets=[
            TagsSetReply(
                id=one.subject,
                job_id=one.job_id,
                status=one.status,
                result=one.shaped(verbose=verbose, phrase_ranks=phrase_ranks),
                note=one.note,
            )
            for one in found
        ],
    )
