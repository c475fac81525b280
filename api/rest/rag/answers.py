"""The prompt of a question, and its answers: by the model, or pasted."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from api.context import ApiContext, Context
from api.parameters import PathId
from api.preferences import REPLAYED, Keyed, Wait, WaitPreference
from api.problems import problem_responses
from api.rest.bodies.rag_steps import Answered, AnswerRequest, AnswerSaved, PastedAnswer, PromptReply, RunOptions
from api.rest.rag.values import ConfigPreset, InQuery, either
from api.rest.rag.waited import Awaited, pending_response, step_responses, superseded
from api.rest.strict import StrictRoute
from services.questions import answers
from services.questions.lookup import get_query
from services.questions.steps import Step, run_stages, take_step
from store.access.idempotency import RequestKey, once
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery

router = APIRouter(prefix="/rag/queries/{query_id}", tags=["questions"], route_class=StrictRoute)

TopN = Annotated[
    int | None,
    Query(ge=1, le=20, description="The number of sources in the prompt; by default that of the preset.", examples=[5]),
]

Take = Callable[[Connection, StoredQuery], Awaitable[StoredQuery]]
"""Makes a question continue to an answer, and returns it with the job that computes the answer."""


@router.get("/augment/prompt", summary="Show the prompt", responses=problem_responses(404, 422))
async def show_prompt(
    query_id: PathId, ctx: Context, top_n: TopN = None, config_preset: ConfigPreset = None
) -> PromptReply:
    """The prompt that an answer would be asked with now, and its sources; no model is called.

    An answer that is pasted without `top_n` belongs to the prompt that was shown last. Before consolidation its
    sources are the retrieved chunks, and `context_source` is `retrieved`. 404 before a search.
    """
    async with ctx.database.connection() as connection:
        query = await get_query(connection, query_id)
        augmented = await answers.show_prompt(connection, query, preset=config_preset, top_n=top_n)
    return PromptReply(
        query_id=query.id,
        original_query=query.original_query,
        prompt=augmented.prompt,
        context_count=len(augmented.sources),
        context_source=augmented.context_source,
        available_context_count=augmented.available,
        sources=list(augmented.sources),
    )


@router.post(
    "/augment/run", summary="Ask for an answer", response_model=Answered, responses=step_responses(404, 409, 422, 500)
)
async def run_augmented_prompt(
    query_id: PathId,
    ctx: Context,
    wait: Wait,
    key: Keyed,
    response: Response,
    given: InQuery,
    body: AnswerRequest | None = None,
    top_n: TopN = None,
) -> Answered | Response:
    """Build the prompt and ask the model. Each request makes a new answer; earlier answers are kept.

    `top_n` may be in the query or in the body.
    """
    asked = body or AnswerRequest()
    sources = either("top_n", top_n, asked.top_n)
    chosen = given.with_body(asked)
    use_light_model = asked.use_full_model is False

    async def take(connection: Connection, query: StoredQuery) -> StoredQuery:
        return await take_step(
            connection, query, Step.ANSWER, **chosen._asdict(), top_n=sources, use_light_model=use_light_model
        )

    return await _answer(ctx, query_id, take, wait, key, response)


@router.post(
    "/run", summary="Run the rest of the chain", response_model=Answered, responses=step_responses(404, 409, 422, 500)
)
async def run_query(
    query_id: PathId,
    ctx: Context,
    wait: Wait,
    key: Keyed,
    response: Response,
    given: InQuery,
    body: RunOptions | None = None,
    top_n: TopN = None,
) -> Answered | Response:
    """Run every stage from the first that is not done, has failed, or had other values, to the answer.

    Workers run them: work continues when the client disconnects. 409 when every stage is done.
    """
    asked = body or RunOptions()
    sources = either("top_n", top_n, asked.top_n)
    chosen = given.with_body(asked)
    use_light_model = asked.use_full_model is False

    async def take(connection: Connection, query: StoredQuery) -> StoredQuery:
        return await run_stages(connection, query, **chosen._asdict(), top_n=sources, use_light_model=use_light_model)

    return await _answer(ctx, query_id, take, wait, key, response)


@router.post("/augment/manual", summary="Save a pasted answer", responses=problem_responses(400, 404, 409, 422))
async def save_manual_response(
    query_id: PathId, ctx: Context, key: Keyed, body: PastedAnswer, response: Response
) -> AnswerSaved:
    """Store the answer of an external model as a new answer, with the sources of its prompt.

    404 before a search. Before consolidation its sources are the retrieved chunks.
    """
    async with ctx.database.connection() as connection:
        query = await get_query(connection, query_id)
        given = await answers.answer(connection, query, body.response_text, top_n=body.top_n, as_shown=True, key=key)
    response.headers.update({} if given.is_new else REPLAYED)
    return AnswerSaved(query_id=query_id, result_id=given.result_id, message="Response saved successfully")


async def _answer(
    ctx: ApiContext, query_id: int, take: Take, wait: WaitPreference, key: RequestKey | None, response: Response
) -> Answered | Response:
    """Continue a question to an answer, once per key, and wait for it."""

    async def make(connection: Connection) -> Mapping[str, Any]:
        after = await queries.newest_result(connection, query_id)
        query = await take(connection, await get_query(connection, query_id))
        return {"run": query.run_id, "job": query.job_id, "after": after}

    async with ctx.database.connection() as connection:
        made, is_new = await once(connection, key, make)
    headers = {} if is_new else REPLAYED
    asked = Awaited(query_id, made["run"], made["job"])
    answered = None if is_new else await _read(ctx, asked, made["after"])
    if answered is None:
        if pending := await pending_response(ctx, asked, wait, headers=headers):
            return pending
        answered = await _read(ctx, asked, made["after"])
    if answered is None:
        raise superseded(query_id)
    response.headers.update(wait.headers | headers)
    return answered


async def _read(ctx: ApiContext, asked: Awaited, after: int) -> Answered | None:
    """The first answer of the job after answer `after`; None when there is none yet."""
    async with ctx.database.connection() as connection:
        await get_query(connection, asked.query_id)
        result_id = await queries.made_result(connection, asked.query_id, job_id=asked.job_id, after=after)
        if result_id is None:
            return None
        result = await queries.result(connection, asked.query_id, result_id)
    return Answered(
        **asked._asdict(),
        message="Response saved successfully",
        result_id=result.id,
        response_text=result.response_text,
        model=result.model,
        sources=result.sources,
        cited=result.cited,
        unknown_citations=result.unknown_citations,
        is_cut=result.is_cut,
        basis=result.basis,
        notes=result.notes,
    )
