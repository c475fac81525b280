"""Submissions of every kind, and the reply to them."""

from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter, Response

from api.context import ApiContext, Context
from api.parameters import PathId
from api.preferences import REPLAYED, Keyed
from api.rest.bodies.base import StrictRoute
from api.rest.bodies.documents import (
    RemovedWorksReply,
    RemoveWorksBody,
)
from api.rest.bodies.participants import (
    ParticipantSubmission,
    Submission,
    SubmittedReply,
)
from api.rest.bodies.rag_queries import QuerySetSubmission
from schemas.values.estimates import Estimate
from services.corpora import remove_works as delete_works
from services.estimates import estimate_request
from services.new_runs import webhook_url
from services.submit import Request, submit
from store.access import RequestKey
from store.corpora import corpora
from store.references import interviews
from store.references.interviews import SplitSize

#: The reply of a submission that finds its run, or stores none, for its OpenAPI description.
SUBMITTED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"model": SubmittedReply | Estimate, "description": "The run of the same work, or the estimate"}
}


async def submit_body(
    ctx: ApiContext,
    key: RequestKey | None,
    body: Submission,
    request: Request,
    response: Response,
    *,
    values: Mapping[str, str] | None = None,
) -> SubmittedReply | Estimate:
    """Submit a request with the settings of its body, or with `values` where the body has others beside them.

    The reply is 201 with a new run under Location, or 200 with the run of the same work, or with the estimate.
    """
    settings = ctx.run_settings(profile=body.profile, values=body.values if values is None else values)
    if body.dry_run:
        response.status_code = 200
        return await estimate_request(
            ctx.database,
            request,
            settings,
            draw=body.chosen_draw,
            prices=ctx.prices,
            in_batches=body.batch_hours is not None,
        )
    submitted = await submit(
        ctx.database,
        request,
        settings,
        draw=body.chosen_draw,
        always_new=body.always_new,
        priority=body.priority,
        key=key,
        terms=body.model_copy(update={"notify_url": webhook_url(ctx.settings, body.notify_url)}),
    )
    response.status_code = 201 if submitted.is_new else 200
    response.headers["Location"] = f"/runs/{submitted.run_id}"
    response.headers.update(REPLAYED if submitted.is_replay else {})
    return SubmittedReply(**vars(submitted), profile=settings.profile, changed_settings=settings.changed)


works_router = APIRouter(prefix="/corpora", tags=["corpora"], route_class=StrictRoute)


@works_router.post("/{corpus_id:int}/works/remove")
async def remove_works(corpus_id: PathId, body: RemoveWorksBody, ctx: Context) -> RemovedWorksReply:
    """Delete works, with their chunks and vectors: all that are named, or none.

    404 lists numbers that are no such work of the corpus, as after a removal that is sent again; nothing is removed
    then. Answers that cite a removed work keep their text.
    """
    async with ctx.database.connection() as connection:
        await corpora.corpus(connection, corpus_id)
        removed = await delete_works(connection, corpus_id, body.work_ids)
    return RemovedWorksReply(removed=removed)


query_sets_router = APIRouter(prefix="/rag/query-sets", tags=["questions"], route_class=StrictRoute)


@query_sets_router.post("/runs", status_code=201, responses=SUBMITTED)
async def submit_query_set(
    ctx: Context, key: Keyed, body: QuerySetSubmission, response: Response
) -> SubmittedReply | Estimate:
    """Store a run of one job per question, and send it. Nothing waits: the events of the run report its progress.

    The same set submitted again is the same run, whose failed jobs continue: 200 instead of 201.
    """
    return await submit_body(ctx, key, body, body.request, response, values=body.run_values)


participants_router = APIRouter(prefix="/participants", tags=["participants"], route_class=StrictRoute)


@participants_router.get("/splits")
async def list_splits(ctx: Context) -> list[SplitSize]:
    """Every stored split, by name."""
    return await ctx.database.once(interviews.split_sizes)


@participants_router.post("/runs", status_code=201, responses=SUBMITTED)
async def submit_participants(
    ctx: Context, key: Keyed, body: ParticipantSubmission, response: Response
) -> SubmittedReply | Estimate:
    """Store a run of one job per participant and mode, and send it.

    The same work submitted again is the same run, whose failed jobs continue: 200 instead of 201. 409 when the request
    is refused, for example because the reference index contains participants of the split; the detail has the reason
    and what to do.
    """
    return await submit_body(ctx, key, body, body, response)
