"""The steps of a question up to its context. Workers run each; the request waits as long as the client prefers."""

from collections import Counter
from typing import Final

from fastapi import APIRouter, Response

from api.context import ApiContext, Context
from api.parameters import PathId
from api.preferences import Wait, WaitPreference
from api.rest.bodies.rag_steps import Consolidated, Embedded, NoOptions, Retrieved, StepOptions
from api.rest.rag.values import InQuery, StepValues
from api.rest.rag.waited import Awaited, pending_response, step_responses, superseded
from api.rest.strict import StrictRoute
from schemas.values.queries import Leg, QueryText
from services.questions.lookup import get_query
from services.questions.steps import Step, take_step
from store.questions.query_view import QueryView, query_view

_NO_VALUES: Final = StepValues(None, {})

router = APIRouter(prefix="/rag/queries/{query_id}", tags=["questions"], route_class=StrictRoute)


@router.post(
    "/embed", summary="Embed a question", response_model=Embedded, responses=step_responses(404, 409, 422, 500)
)
async def embed_query(
    query_id: PathId, ctx: Context, wait: Wait, response: Response, body: NoOptions | None = None
) -> Embedded | Response:
    """Embed the question, its search phrases and its hypothetical answer (HyDE), in one call."""
    asked = await _start(ctx, query_id, Step.EMBED)
    if pending := await pending_response(ctx, asked, wait):
        return pending
    view = await _view(ctx, query_id, wait, response)
    if view.embedded is None:
        raise superseded(query_id)
    texts = Counter(view.embedded.texts)
    return Embedded(
        **asked._asdict(),
        message="Query vectorized successfully",
        total_embeddings=texts.total(),
        original_count=texts[QueryText.ORIGINAL],
        mqe_count=texts[QueryText.MQE],
        hyde_count=texts[QueryText.HYDE],
    )


@router.post(
    "/retrieve", summary="Search for a question", response_model=Retrieved, responses=step_responses(404, 409, 422, 500)
)
async def retrieve_chunks(
    query_id: PathId, ctx: Context, wait: Wait, response: Response, given: InQuery, body: StepOptions | None = None
) -> Retrieved | Response:
    """Search by vectors and full text, fuse both, rank, and validate by a model if the preset has it enabled.

    404 before the question is embedded. Replaces the earlier search; consolidation has to run again.
    """
    asked = await _start(ctx, query_id, Step.RETRIEVE, given=given.with_body(body or StepOptions()))
    if pending := await pending_response(ctx, asked, wait):
        return pending
    view = await _view(ctx, query_id, wait, response)
    if view.found is None or view.retrieved is None:
        raise superseded(query_id)
    hits = Counter[Leg]()
    for ranked in view.found.lists:
        hits[ranked.leg] += len(ranked.hits)
    final = len(view.retrieved.chunks)
    return Retrieved(
        **asked._asdict(),
        message=f"Retrieved {final} chunks",
        chunks_retrieved=final,
        total_dense_candidates=hits[Leg.DENSE],
        total_lexical_candidates=hits[Leg.LEXICAL],
        rrf_candidates=len(view.found.fused),
        final_count=final,
        dropped_chunks={} if view.reranked is None else view.reranked.dropped,
        kept_short={} if view.reranked is None else view.reranked.kept_short,
    )


@router.post(
    "/consolidate",
    summary="Consolidate the retrieved chunks",
    response_model=Consolidated,
    responses=step_responses(404, 409, 422, 500),
)
async def consolidate_context(
    query_id: PathId, ctx: Context, wait: Wait, response: Response, given: InQuery, body: StepOptions | None = None
) -> Consolidated | Response:
    """Merge adjacent chunks into passages, from the lines of their works.

    404 before a search, 409 when a work has changed since: search again.
    """
    asked = await _start(ctx, query_id, Step.CONSOLIDATE, given=given.with_body(body or StepOptions()))
    if pending := await pending_response(ctx, asked, wait):
        return pending
    view = await _view(ctx, query_id, wait, response)
    if view.consolidated is None:
        raise superseded(query_id)
    original, groups = view.consolidated.original_count, view.consolidated.consolidated_count
    return Consolidated(
        **asked._asdict(),
        message=f"Consolidated {original} chunks into {groups} groups",
        original_count=original,
        consolidated_count=groups,
        dropped_passages=view.consolidated.dropped_short or 0,
    )


async def _start(ctx: ApiContext, query_id: int, step: Step, *, given: StepValues = _NO_VALUES) -> Awaited:
    async with ctx.database.connection() as connection:
        query = await take_step(connection, await get_query(connection, query_id), step, **given._asdict())
    return Awaited(query.id, query.run_id, query.job_id)


async def _view(ctx: ApiContext, query_id: int, wait: WaitPreference, response: Response) -> QueryView:
    response.headers.update(wait.headers)
    async with ctx.database.connection() as connection:
        view = await query_view(connection, query_id)
    if view is None:
        raise superseded(query_id)
    return view
