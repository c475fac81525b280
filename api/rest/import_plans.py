"""What an import of texts would do, and the removal of works."""

from fastapi import APIRouter

from api.context import Context
from api.parameters import PathId
from api.problems import problem_responses
from api.rest.bodies.corpora import (
    ImportBody,
    ImportEstimateReply,
    RemovedWorksReply,
    RemoveWorksBody,
    WorkSourceReply,
)
from api.rest.strict import StrictRoute
from api.work_uploads import estimate_requested
from services import import_plans
from store.corpora import corpora

router = APIRouter(prefix="/corpora", tags=["corpora"], route_class=StrictRoute)


@router.post("/works/estimate", summary="Estimate an import of works", responses=problem_responses(409, 422))
async def estimate_texts(body: ImportBody, ctx: Context) -> ImportEstimateReply:
    """Jobs, model calls, tokens, seconds and money of the same body sent to `/corpora/works`: nothing is stored."""
    return ImportEstimateReply.of(await estimate_requested(ctx, body.request))


@router.post("/{corpus_id:int}/works/remove", summary="Remove works", responses=problem_responses(404, 422))
async def remove_works(corpus_id: PathId, body: RemoveWorksBody, ctx: Context) -> RemovedWorksReply:
    """Delete works that came from files, with their chunks and vectors: all that are named, or none.

    404 lists numbers that are no such work of the corpus, as after a removal that is sent again; nothing is removed
    then. Answers that cite a removed work keep their text.
    """
    async with ctx.database.connection() as connection:
        await corpora.corpus(connection, corpus_id)
        removed = await import_plans.remove_works(connection, corpus_id, body.work_ids)
    return RemovedWorksReply(removed=[WorkSourceReply.of(work) for work in removed])
