"""The steps of a question up to its context. Workers run each; the request waits as long as the client prefers."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query, Response

from api.context import ApiContext, Context
from api.parameters import PathId
from api.preferences import REPLAYED, Keyed, Wait, WaitPreference
from api.rest.bodies.base import StrictRoute
from api.rest.bodies.rag_queries import Asked, Expanded, ExpansionPrompt, ExpansionRequest, PastedExpansion
from api.rest.bodies.rag_steps import (
    Answered,
    AnswerRequest,
    AnswerSaved,
    Consolidated,
    Embedded,
    NoOptions,
    PastedAnswer,
    PromptReply,
    Retrieved,
    RunOptions,
    StepOptions,
)
from api.rest.rag.queries import ACCEPTED, Awaited, pending_response, superseded
from schemas.errors import ExpansionFailedError, QueryValueError, StepFailedError
from schemas.values.queries import Leg, Origin, QueryText
from schemas.values.requests import QueryRequest
from services.questions import answers
from services.questions.answers import AskResult, ask, preview_expansion_prompt, withdraw
from services.questions.steps import Step, run_stages, take_step
from stages.queries.query_files import single_query
from store.access import RequestKey, once
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery
from store.questions.query_runs import QueryView, query_view

expansion_router = APIRouter(prefix="/rag/expansion", tags=["questions"], route_class=StrictRoute)


@expansion_router.post("/prompt")
async def show_expansion_prompt(ctx: Context, body: ExpansionRequest) -> ExpansionPrompt:
    """The prompt that asks an external model for an expansion; nothing is stored, and no model is called."""
    prompt, n = await ctx.database.once(preview_expansion_prompt, body.question, preset=body.config_preset, n=body.n)
    return ExpansionPrompt(prompt=prompt, query=body.question, original_query=body.question, n=n)


@expansion_router.post("/run", response_model=Expanded, responses=ACCEPTED)
async def run_expansion(
    ctx: Context, wait: Wait, key: Keyed, body: ExpansionRequest, response: Response
) -> Expanded | Response:
    """Store a question and have the model write search phrases, a hypothetical answer (HyDE), intent and entities.

    400 when the model's reply is invalid. Nothing is stored then, nor after another failure that this request replies
    with.
    """
    values = {} if body.n is None else {"expansion.n": str(body.n)}
    stored = await _ask(ctx, body, key, preset_values=values, use_full_model=body.use_full_model)
    headers = {} if stored.is_new else REPLAYED
    asked = Awaited(stored.query_id, stored.run_id, stored.job_id)
    expanded = None if stored.is_new else await _expansion_read(ctx, asked)
    if expanded is None:
        try:
            if pending := await pending_response(ctx, asked, wait, headers=headers):
                return pending
        except StepFailedError as error:
            async with ctx.database.connection() as connection:
                if not await withdraw(connection, asked.query_id, key=key):
                    raise
            raise ExpansionFailedError(error.error_type, error.error_message) from None
        expanded = await _expansion_read(ctx, asked)
    if expanded is None:
        raise superseded(asked.query_id)
    response.headers.update(wait.headers | headers)
    return expanded


@expansion_router.post("/manual")
async def save_manual_expansion(ctx: Context, key: Keyed, body: PastedExpansion, response: Response) -> Expanded:
    """Store a question with the reply of an external model. 400 when the reply is invalid: nothing is stored."""
    stored = await _ask(ctx, body, key, expansion_reply=body.reply)
    expanded = await _expansion_read(ctx, Awaited(stored.query_id, stored.run_id, stored.job_id))
    if expanded is None:
        raise superseded(stored.query_id)
    response.headers.update({} if stored.is_new else REPLAYED)
    return expanded


async def _ask(ctx: ApiContext, body: Asked, key: RequestKey | None, **more: Any) -> AskResult:
    """Store a question up to its expansion."""
    where = {"corpora": body.all_corpora, "works": body.works, "config_preset": body.config_preset}
    request = QueryRequest(queries=single_query(body.question), until="expand", **where, **more)
    return await ctx.database.once(ask, request, ctx.run_settings(), key=key)


async def _expansion_read(ctx: ApiContext, asked: Awaited) -> Expanded | None:
    """The expansion of a question; None while none is stored."""
    view = await ctx.database.once(query_view, asked.query_id)
    if view is None or view.expansion is None:
        return None
    is_skipped = view.expansion.origin is Origin.NONE
    return Expanded(
        **asked._asdict(),
        message="Query created; its preset skips expansion" if is_skipped else "Query created successfully",
        original_query=view.line.original_query,
        expanded_queries=list(view.expansion.queries),
        hyde_answer=view.expansion.hyde_answer,
        intent=view.expansion.intent,
        entities=list(view.expansion.entities),
    )


Given = TypeVar("Given")

ConfigPreset = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=100,
        pattern=r"^[^\x00]*$",
        description="Continue with this preset. A run keeps its settings: the question moves to a new run, unless its "
        "run has these values, and stages whose values differ run again.",
        examples=["Original"],
    ),
]


def either(name: str, in_query: Given | None, in_body: Given | None) -> Given | None:
    """The one that is given. Raises QueryValueError when both are and differ."""
    if in_query is not None and in_body is not None and in_query != in_body:
        raise QueryValueError(name, "differs between the query and the body; give it once")
    return in_body if in_query is None else in_query


def values_of(config_preset: str | None, body: StepOptions | None) -> dict[str, Any]:
    """The arguments of `run_stages` and `take_step` for the preset and the values of a request."""
    asked = body or StepOptions()
    return {"preset": either("config_preset", config_preset, asked.config_preset), "values": asked.settings or {}}


router = APIRouter(prefix="/rag/queries/{query_id}", tags=["questions"], route_class=StrictRoute)


@router.post("/embed", response_model=Embedded, responses=ACCEPTED)
async def embed_query(
    query_id: PathId, ctx: Context, wait: Wait, response: Response, body: NoOptions | None = None
) -> Embedded | Response:
    """Embed the question, its search phrases and its hypothetical answer (HyDE), in one call."""
    taken = await _take(ctx, query_id, Step.EMBED, wait, response)
    if isinstance(taken, Response):
        return taken
    asked, view = taken
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


@router.post("/retrieve", response_model=Retrieved, responses=ACCEPTED)
async def retrieve_chunks(
    query_id: PathId,
    ctx: Context,
    wait: Wait,
    response: Response,
    config_preset: ConfigPreset = None,
    body: StepOptions | None = None,
) -> Retrieved | Response:
    """Search by vectors and full text, fuse both, rank, and validate by a model if the preset has it enabled.

    404 before the question is embedded. Replaces the earlier search; consolidation has to run again.
    """
    taken = await _take(ctx, query_id, Step.RETRIEVE, wait, response, **values_of(config_preset, body))
    if isinstance(taken, Response):
        return taken
    asked, view = taken
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


@router.post("/consolidate", response_model=Consolidated, responses=ACCEPTED)
async def consolidate_context(
    query_id: PathId,
    ctx: Context,
    wait: Wait,
    response: Response,
    config_preset: ConfigPreset = None,
    body: StepOptions | None = None,
) -> Consolidated | Response:
    """Merge adjacent chunks into passages, from the lines of their works.

    404 before a search, 409 when a work has changed since: search again.
    """
    taken = await _take(ctx, query_id, Step.CONSOLIDATE, wait, response, **values_of(config_preset, body))
    if isinstance(taken, Response):
        return taken
    asked, view = taken
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


async def _take(
    ctx: ApiContext, query_id: int, step: Step, wait: WaitPreference, response: Response, **values: Any
) -> tuple[Awaited, QueryView] | Response:
    """Take a step and wait for it: the question after it, or the reply to a client that does not wait so long."""
    async with ctx.database.connection() as connection:
        query = await take_step(connection, await queries.get(connection, query_id), step, **values)
    asked = Awaited(query.id, query.run_id, query.job_id)
    if pending := await pending_response(ctx, asked, wait):
        return pending
    response.headers.update(wait.headers)
    view = await ctx.database.once(query_view, query_id)
    if view is None:
        raise superseded(query_id)
    return asked, view


TopN = Annotated[
    int | None,
    Query(ge=1, le=20, description="The number of sources in the prompt; by default that of the preset.", examples=[5]),
]

Take = Callable[[Connection, StoredQuery], Awaitable[StoredQuery]]
"""Makes a question continue to an answer, and returns it with the job that computes the answer."""


@router.get("/augment/prompt")
async def show_prompt(
    query_id: PathId, ctx: Context, top_n: TopN = None, config_preset: ConfigPreset = None
) -> PromptReply:
    """The prompt that an answer would be asked with now, and its sources; no model is called.

    An answer that is pasted without `top_n` belongs to the prompt that was shown last. Before consolidation its
    sources are the retrieved chunks, and `context_source` is `retrieved`. 404 before a search.
    """
    async with ctx.database.connection() as connection:
        query = await queries.get(connection, query_id)
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


@router.post("/augment/run", response_model=Answered, responses=ACCEPTED)
async def run_augmented_prompt(
    query_id: PathId,
    ctx: Context,
    wait: Wait,
    key: Keyed,
    response: Response,
    body: AnswerRequest | None = None,
    config_preset: ConfigPreset = None,
    top_n: TopN = None,
) -> Answered | Response:
    """Build the prompt and ask the model. Each request makes a new answer; earlier answers are kept.

    `top_n` may be in the query or in the body.
    """
    values = _answer_values(body, config_preset, top_n)
    return await _answer(ctx, query_id, partial(take_step, step=Step.ANSWER, **values), wait, key, response)


@router.post("/run", response_model=Answered, responses=ACCEPTED)
async def run_query(
    query_id: PathId,
    ctx: Context,
    wait: Wait,
    key: Keyed,
    response: Response,
    body: RunOptions | None = None,
    config_preset: ConfigPreset = None,
    top_n: TopN = None,
) -> Answered | Response:
    """Run every stage from the first that is not done, has failed, or had other values, to the answer.

    Workers run them: work continues when the client disconnects. 409 when every stage is done.
    """
    values = _answer_values(body, config_preset, top_n)
    return await _answer(ctx, query_id, partial(run_stages, **values), wait, key, response)


def _answer_values(body: RunOptions | None, config_preset: str | None, top_n: int | None) -> dict[str, Any]:
    asked = body or RunOptions()
    return values_of(config_preset, asked) | {
        "top_n": either("top_n", top_n, asked.top_n),
        "use_light_model": asked.use_full_model is False,
    }


@router.post("/augment/manual")
async def save_manual_response(
    query_id: PathId, ctx: Context, key: Keyed, body: PastedAnswer, response: Response
) -> AnswerSaved:
    """Store the answer of an external model as a new answer, with the sources of its prompt.

    404 before a search. Before consolidation its sources are the retrieved chunks.
    """
    async with ctx.database.connection() as connection:
        query = await queries.get(connection, query_id)
        given = await answers.answer(connection, query, body.response_text, top_n=body.top_n, as_shown=True, key=key)
    response.headers.update({} if given.is_new else REPLAYED)
    return AnswerSaved(query_id=query_id, result_id=given.result_id, message="Response saved successfully")


async def _answer(
    ctx: ApiContext, query_id: int, take: Take, wait: WaitPreference, key: RequestKey | None, response: Response
) -> Answered | Response:
    """Continue a question to an answer, once per key, and wait for it."""

    async def make(connection: Connection) -> Mapping[str, Any]:
        after = await queries.newest_result(connection, query_id)
        query = await take(connection, await queries.get(connection, query_id))
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
        await queries.get(connection, asked.query_id)
        result_id = await queries.made_result(connection, asked.query_id, job_id=asked.job_id, after=after)
        if result_id is None:
            return None
        result = await queries.result(connection, asked.query_id, result_id)
    done = asked._asdict() | {"message": "Response saved successfully", "result_id": result.id}
    return Answered(**vars(result) | done)
