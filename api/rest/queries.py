"""Questions: asked by their expansion, listed, read, changed, deleted; and their answers."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import AliasChoices, Field

from api.context import Context
from api.parameters import Body, Keyed, PathId, StrictRoute, with_example
from api.rest.steps import ACCEPTED, StepReply, Waiting, Waits, ids_of
from schemas.errors import QueryValueError, StepFailedError
from schemas.values.base import Listed, Text
from schemas.values.queries import ContextGroup, Expansion
from schemas.values.requests import Name, QueryEdit, QueryRequest, Question, QuestionsWanted, Searched
from services.questions.edits import ask, edit, preview_expansion_prompt, stored_context, withdraw
from stages.queries.query_files import single_query
from store.access import RequestKey
from store.database import Connection
from store.questions import queries, query_runs
from store.questions.queries import StoredQuery, StoredResult
from store.questions.query_runs import QueryView, query_view

_QUESTION: Final = "What is working memory?"

_REPLY: Final = (
    '{"queries": ["capacity of working memory in adults"], "hyde_answer": "Working memory is a cognitive system...", '
    '"intent": "DEFINITION", "entities": ["working memory"]}'
)


class Asked(Searched, Body):
    """A question to a corpus."""

    question: Question = Field(validation_alias=AliasChoices("original_query", "query"), repr=False)
    """May also be called `query`."""
    config_preset: Name | None = None
    """The preset; by default the default preset."""


class ExpansionRequest(Asked):
    """A question to expand."""

    model_config = with_example(original_query=_QUESTION, n=3, use_full_model=True)

    n: Annotated[int, Field(ge=1, le=10)] | None = None
    """The number of search phrases; by default that of the preset."""
    use_full_model: bool | None = None
    """False: RAGQ_QUERY_LIGHT_MODEL expands, where it is set; true or absent: RAGQ_QUERY_MODEL."""


class PastedExpansion(Asked):
    """A question with the reply of an external model."""

    model_config = with_example(original_query=_QUESTION, llm_response=_REPLY)

    reply: Annotated[Text, Field(min_length=1, max_length=100_000)] = Field(
        validation_alias=AliasChoices("llm_response", "response_text"), repr=False
    )
    """One JSON object, with or without a code fence; may also be called `response_text`."""


class Expanded(StepReply, Expansion):
    """A stored question with its expansion, which is empty where the preset skips it."""

    message: str = "Query created successfully"
    original_query: str = Field(repr=False)


expansion_router = APIRouter(prefix="/rag/expansion", tags=["questions"], route_class=StrictRoute)


@expansion_router.post("/prompt")
async def show_expansion_prompt(
    ctx: Context, body: ExpansionRequest
) -> dict[Literal["prompt", "query", "n"], str | int]:
    """The prompt that asks an external model for an expansion; nothing is stored, and no model is called."""
    prompt, n = await ctx.database.once(preview_expansion_prompt, body.question, preset=body.config_preset, n=body.n)
    return {"prompt": prompt, "query": body.question, "n": n}


@expansion_router.post("/run", response_model=Expanded, responses=ACCEPTED)
async def run_expansion(waiting: Waits, key: Keyed, body: ExpansionRequest) -> Expanded | Response:
    """Store a question and have the model write search phrases, a hypothetical answer (HyDE), intent and entities.

    400 when the model's reply is invalid. Nothing is stored after a failure that this request replies with.
    """
    values = {} if body.n is None else {"expansion.n": str(body.n)}
    try:
        return await _expand(waiting, key, body, preset_values=values, use_full_model=body.use_full_model)
    except StepFailedError as error:
        if error.query_id is None or not await waiting.ctx.database.once(withdraw, error.query_id, key=key):
            raise
        raise StepFailedError(None, None, error.stage, error.error_type, error.error_message) from None


@expansion_router.post("/manual", response_model=Expanded)
async def save_manual_expansion(
    ctx: Context, key: Keyed, body: PastedExpansion, request: Request, response: Response
) -> Expanded | Response:
    """Store a question with the reply of an external model. 400 when the reply is invalid: nothing is stored."""
    waiting = Waiting(ctx, request, response, at_once=True)
    return await _expand(waiting, key, body, expansion_reply=body.reply)


async def _expand(waiting: Waiting, key: RequestKey | None, body: Asked, **more: Any) -> Expanded | Response:
    """Store a question up to its expansion, and wait for it."""
    where = {"corpora": body.all_corpora, "works": body.works, "config_preset": body.config_preset}
    request = QueryRequest(queries=single_query(body.question), until="expand", **where, **more)
    asked, is_new = await waiting.ctx.database.once(ask, request, waiting.ctx.run_settings(), key=key)

    async def read(connection: Connection) -> Expanded | None:
        view = await query_view(connection, asked.id)
        if view.expansion is None:
            return None
        return Expanded(**ids_of(view) | vars(view.expansion), original_query=view.original_query)

    return await waiting.reply(asked, read, is_new=is_new)


class QueryList(Listed[StoredQuery]):
    """Questions, newest first, under the original's name."""

    items: tuple[StoredQuery, ...] = Field(serialization_alias="queries")


class QueryPatch(QueryEdit, Body):
    """What to change of a question."""

    model_config = with_example(original_query="Updated question", intent="MECHANISM")

    clean_retrieval_context: Annotated[list[ContextGroup], Field(min_length=1, max_length=1000)] | None = None
    """The passages to keep as they were read, in the order of the prompt. Their content cannot be changed."""


class ResultList(Listed[StoredResult]):
    """The answers to a question, newest first, under the original's name."""

    query_id: int = Field(examples=[1])
    items: tuple[StoredResult, ...] = Field(serialization_alias="results")


router = APIRouter(prefix="/rag/queries", tags=["questions"], route_class=StrictRoute)

Run = Annotated[bool, Query(description="Run the stages that the change made stale.", examples=[True])]


@router.get("")
async def list_queries(ctx: Context, wanted: Annotated[QuestionsWanted, Query()]) -> QueryList:
    """Questions, newest first, each with its progress and what it needs next."""
    return QueryList.model_validate(dict(await ctx.database.once(queries.listed, wanted)))


@router.get("/{query_id}")
async def read_query(query_id: PathId, ctx: Context) -> QueryView:
    """A question with its expansion, its retrieved chunks and passages, and its last error."""
    return await ctx.database.once(query_view, query_id)


@router.patch("/{query_id}")
async def change_query(query_id: PathId, ctx: Context, body: QueryPatch, run: Run = False) -> QueryView:
    """Change the question, its expansion, or the selection and order of passages.

    Outputs of the old values are discarded (kept in history). With `run=true` they are computed again; otherwise
    nothing runs, and `status` is what the question needs next. The prompt has the passages in this order. One request
    cannot change passages together with the question or its expansion, because they were retrieved by those.
    """
    async with ctx.database.connection() as connection, connection.transaction():
        context = None
        if body.clean_retrieval_context:
            query = await queries.hold(connection, query_id)
            context = _places(body.clean_retrieval_context, (await stored_context(connection, query)).groups)
        await edit(connection, query_id, body, context=context, run=run)
    return await ctx.database.once(query_view, query_id)


def _places(chosen: Sequence[ContextGroup], stored: Sequence[ContextGroup]) -> list[int]:
    """The places of passages among those that are stored, from 1. Raises QueryValueError for one that is none."""
    for number, passage in enumerate(chosen, start=1):
        if passage not in stored:
            raise QueryValueError(
                "clean_retrieval_context",
                f"entry {number} is none of the {len(stored)} passages as they are stored; read the question again and "
                "send passages of it, unchanged",
            )
    return [stored.index(passage) + 1 for passage in chosen]


@router.delete("/{query_id}", status_code=204)
async def delete_query(query_id: PathId, ctx: Context) -> None:
    """Delete a question with everything that was computed for it, its answers, and every text of them.

    Refused while a stage of it is running. A run without other questions is deleted with it.
    """
    await ctx.database.once(query_runs.delete_query, query_id)


@router.get("/{query_id}/results")
async def list_results(query_id: PathId, ctx: Context) -> ResultList:
    """Every answer, newest first, with the sources of its labels."""
    async with ctx.database.connection() as connection:
        await queries.get(connection, query_id)
        stored = await queries.results(connection, query_id)
    return ResultList(query_id=query_id, items=tuple(stored), total=len(stored))


@router.get("/{query_id}/results/{result_id}")
async def read_result(query_id: PathId, result_id: PathId, ctx: Context) -> StoredResult:
    """One answer, with the sources of its labels."""
    async with ctx.database.connection() as connection:
        await queries.get(connection, query_id)
        return await queries.result(connection, query_id, result_id)


@router.delete("/{query_id}/results/{result_id}", status_code=204)
async def delete_result(query_id: PathId, result_id: PathId, ctx: Context) -> None:
    """Delete one answer. The attempt that made it is kept in the history of its job."""
    await ctx.database.once(query_runs.delete_result, query_id, result_id)
