"""Questions: asked by their expansion, listed, read, changed, deleted; and their answers."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from pydantic import AliasChoices, ConfigDict, Field

from api.context import Context
from api.parameters import Body, Keyed, PathId, Reply, StrictRoute, with_example
from api.rest.steps import ACCEPTED, StepDone, Waiting, Waits, ids_of
from schemas.errors import QueryValueError, StepFailedError
from schemas.statuses import QueryStatus
from schemas.values.base import MAX_ID, Text
from schemas.values.queries import ConsolidatedContext, ContextGroup, Origin, RerankedChunk
from schemas.values.requests import Name, QueryChanges, QueryEdit, QueryRequest, Question, QuestionsWanted, Searched
from schemas.values.runs import StageFailure
from services.questions.edits import ask, edit, preview_expansion_prompt, stored_context, withdraw
from stages.queries.query_files import single_query
from store.access import RequestKey
from store.database import Connection
from store.questions import queries, query_runs
from store.questions.queries import StoredQuery, StoredResult
from store.questions.query_runs import QueryView, query_view

REPLY_CHARS: Final = 100_000
"""The longest pasted expansion."""

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

    reply: Annotated[Text, Field(min_length=1, max_length=REPLY_CHARS)] = Field(
        validation_alias=AliasChoices("llm_response", "response_text"), repr=False
    )
    """One JSON object, with or without a code fence; may also be called `response_text`."""


class ExpansionPrompt(Reply):
    """The prompt for an external model."""

    prompt: str = Field(repr=False)
    query: str = Field(repr=False)
    original_query: str = Field(repr=False)
    """The same as `query`."""
    n: int


class Expanded(StepDone):
    """A stored question with its expansion."""

    original_query: str = Field(repr=False)
    expanded_queries: list[str] = Field(repr=False)
    hyde_answer: str = Field(repr=False)
    intent: str | None
    entities: list[str] = Field(repr=False)


expansion_router = APIRouter(prefix="/rag/expansion", tags=["questions"], route_class=StrictRoute)


@expansion_router.post("/prompt")
async def show_expansion_prompt(ctx: Context, body: ExpansionRequest) -> ExpansionPrompt:
    """The prompt that asks an external model for an expansion; nothing is stored, and no model is called."""
    prompt, n = await ctx.database.once(preview_expansion_prompt, body.question, preset=body.config_preset, n=body.n)
    return ExpansionPrompt(prompt=prompt, query=body.question, original_query=body.question, n=n)


@expansion_router.post("/run", response_model=Expanded, responses=ACCEPTED)
async def run_expansion(waiting: Waits, key: Keyed, body: ExpansionRequest) -> Expanded | Response:
    """Store a question and have the model write search phrases, a hypothetical answer (HyDE), intent and entities.

    400 when the model's reply is invalid. Nothing is stored then, nor after another failure that this request replies
    with.
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
        is_skipped = view.expansion.origin is Origin.NONE
        return Expanded(
            **ids_of(view.line),
            message="Query created; its preset skips expansion" if is_skipped else "Query created successfully",
            original_query=view.line.original_query,
            expanded_queries=list(view.expansion.queries),
            **view.expansion.model_dump(exclude={"origin", "queries"}),
        )

    return await waiting.reply(asked, read, is_new=is_new)


PassageId = Annotated[int, Field(ge=1, le=MAX_ID)]


class QueryList(Reply):
    """Questions, newest first."""

    queries: list[StoredQuery]
    total: int
    """The number of questions in that status, on all pages."""


class RetrievedChunk(RerankedChunk):
    """A retrieved chunk with all of its scores."""

    chunk_id: int = Field(serialization_alias="id")
    fused_score: float = Field(serialization_alias="fusion_score")
    """The score after fusion, by any method."""
    rrf_score: float | None
    """The sum of reciprocal ranks; None after another fusion."""


class Passage(ContextGroup):
    """Adjacent lines of one work."""

    place: int
    """From 1: its place in the prompt."""


class QueryDetail(StoredQuery):
    """A question with its current outputs."""

    expanded_queries: list[str] | None = Field(repr=False)
    """None while no expansion is stored."""
    hyde_answer: str | None = Field(repr=False)
    entities: list[str] | None = Field(repr=False)
    retrieved_context: list[RetrievedChunk] | None
    """In the order of selection; None while no search is stored."""
    clean_retrieval_context: list[Passage] | None
    """In the order of the prompt; None while no consolidation is stored."""
    available_context_count: int
    """The number of available sources for a prompt: passages, or retrieved chunks where there are none."""
    error: StageFailure | None
    """The last error of a job that did not succeed."""
    nearest: list[RetrievedChunk]
    """The three nearest chunks to a question that the corpus does not answer, whose error is `nothing_relevant`."""


class PassageChoice(Body):
    """A passage to keep, identified by its `place` or by other fields as they were read."""

    place: Annotated[int, Field(ge=1, le=10_000)] | None = None
    chunk_ids: Annotated[list[PassageId], Field(max_length=1000)] | None = None
    parent_id: PassageId | None = None
    work_id: PassageId | None = None
    start_line: PassageId | None = None
    end_line: PassageId | None = None
    content: str | None = Field(default=None, repr=False)
    """Cannot be changed: passages are lines of their works."""
    score: float | None = None
    heading_chain: list[str] | None = Field(default=None, repr=False)
    pages: Annotated[list[PassageId], Field(min_length=2, max_length=2)] | None = None


class QueryPatch(QueryChanges, Body):
    """What to change of a question."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"original_query": "Updated question", "intent": "MECHANISM"},
                {"clean_retrieval_context": [{"place": 2}, {"place": 1}]},
            ]
        }
    )

    clean_retrieval_context: Annotated[list[PassageChoice], Field(min_length=1, max_length=1000)] | None = None
    """The passages to keep, in the order of the prompt."""


class ResultList(Reply):
    """The answers to a question, newest first."""

    query_id: int = Field(examples=[1])
    results: list[StoredResult]
    total: int = Field(examples=[1])


_FIELD: Final = "clean_retrieval_context"

_NAMES: Final = ("chunk_ids", "work_id", "start_line", "end_line")


def _place(number: int, choice: PassageChoice, passages: Sequence[dict[str, Any]]) -> int:
    """The place of a chosen passage.

    A choice identifies a passage by its chunks, work and lines, or by its place. A place beside them counts only where
    several passages match them: a page that saves twice sends the places of before. Raises QueryValueError for a choice
    with none of them, for one that matches no passage or several, and for one that changes the content of a passage.
    """
    given = choice.model_dump(exclude_none=True)
    at = given.pop("place", None)
    names = {name: given.pop(name) for name in _NAMES if name in given}
    if not names and at is None:
        raise QueryValueError(_FIELD, f"entry {number} identifies no passage; give its place, or its work and lines")
    fitting = [passage for passage in passages if all(passage[name] == value for name, value in names.items())]
    if len(fitting) > 1 and at is not None:
        fitting = [passage for passage in fitting if passage["place"] == at]
    if len(fitting) != 1:
        raise QueryValueError(
            _FIELD,
            f"entry {number} matches {len(fitting)} of {len(passages)} passages; read the question again and choose "
            "from its passages",
        )
    (passage,) = fitting
    if changed := [name for name, value in given.items() if passage[name] != value]:
        raise QueryValueError(_FIELD, f"entry {number} changes {', '.join(changed)}; the content of passages is fixed")
    place: int = passage["place"]
    return place


def line_of(line: StoredQuery) -> StoredQuery:
    """A question in one line: a failed embedding needs embeddings."""
    is_failed = line.status is QueryStatus.VEC_ERR
    return line.model_copy(update={"status": QueryStatus.NEEDS_EMBEDDINGS}) if is_failed else line


def detail_of(view: QueryView) -> QueryDetail:
    """A question with its current outputs."""
    expansion = view.expansion
    is_rrf = view.found is not None and view.found.fusion == "rrf"
    return QueryDetail(
        **vars(line_of(view.line)),
        expanded_queries=None if expansion is None else list(expansion.queries),
        hyde_answer=None if expansion is None else expansion.hyde_answer,
        entities=None if expansion is None else list(expansion.entities),
        retrieved_context=None if view.retrieved is None else _chunks(view.retrieved.chunks, is_rrf=is_rrf),
        clean_retrieval_context=None if view.consolidated is None else passages(view.consolidated),
        available_context_count=view.available,
        error=view.error,
        nearest=_chunks(view.nearest, is_rrf=is_rrf),
    )


def passages(context: ConsolidatedContext) -> list[Passage]:
    """The passages of a context in their order."""
    return [Passage(place=place, **group.model_dump()) for place, group in enumerate(context.groups, start=1)]


def _chunks(chunks: Sequence[RerankedChunk], *, is_rrf: bool) -> list[RetrievedChunk]:
    return [RetrievedChunk(**vars(chunk), rrf_score=chunk.fused_score if is_rrf else None) for chunk in chunks]


router = APIRouter(prefix="/rag/queries", tags=["questions"], route_class=StrictRoute)

Run = Annotated[
    bool,
    Query(
        description="Run the stages that the change made stale, up to the stage that the chain ends with, instead of "
        "ending the chain with what was changed.",
        examples=[True],
    ),
]


@router.get("")
async def list_queries(ctx: Context, wanted: Annotated[QuestionsWanted, Query()]) -> QueryList:
    """Questions, newest first, each with its progress and what it needs next."""
    async with ctx.database.connection() as connection:
        statuses = queries.in_need(wanted.status)
        counts = await queries.counts(connection)
        total = sum(count for status, count in counts.items() if status in statuses)
        lines = await queries.lines(connection, statuses=statuses, limit=wanted.limit, before=wanted.before)
    return QueryList(queries=[line_of(line) for line in lines], total=total)


@router.get("/{query_id}")
async def read_query(query_id: PathId, ctx: Context) -> QueryDetail:
    """A question with its expansion, its retrieved chunks and passages, and its last error."""
    return detail_of(await ctx.database.once(query_view, query_id))


@router.patch("/{query_id}")
async def change_query(query_id: PathId, ctx: Context, body: QueryPatch, run: Run = False) -> QueryDetail:
    """Change the question, its expansion, or the selection and order of passages.

    Outputs of the old values are discarded (kept in history). With `run=true` they are computed again; otherwise
    nothing runs, and `status` is what the question needs next. The prompt has the passages in this order. One request
    cannot change passages together with the question or its expansion, because they were retrieved by those.
    """
    async with ctx.database.connection() as connection, connection.transaction():
        changes = body.model_dump(exclude_unset=True, exclude={"clean_retrieval_context"})
        if choices := body.clean_retrieval_context:
            query = await queries.hold(connection, query_id)
            stored = [one.model_dump(mode="json") for one in passages(await stored_context(connection, query))]
            changes["context"] = [_place(number, choice, stored) for number, choice in enumerate(choices, start=1)]
        await edit(connection, query_id, QueryEdit(**changes), run=run)
    return detail_of(await ctx.database.once(query_view, query_id))


@router.delete("/{query_id}", status_code=204)
async def delete_query(query_id: PathId, ctx: Context) -> None:
    """Delete a question with everything that was computed for it, its answers, and every text of them.

    Refused while a stage of it is running. A run without other questions is deleted with it.
    """
    await ctx.database.once(query_runs.delete_query, query_id)


results_router = APIRouter(prefix="/rag/queries/{query_id}/results", tags=["questions"], route_class=StrictRoute)


@results_router.get("")
async def list_results(query_id: PathId, ctx: Context) -> ResultList:
    """Every answer, newest first, with the sources of its labels."""
    async with ctx.database.connection() as connection:
        await queries.get(connection, query_id)
        stored = await queries.results(connection, query_id)
    return ResultList(query_id=query_id, results=stored, total=len(stored))


@results_router.get("/{result_id}")
async def read_result(query_id: PathId, result_id: PathId, ctx: Context) -> StoredResult:
    """One answer, with the sources of its labels."""
    async with ctx.database.connection() as connection:
        await queries.get(connection, query_id)
        return await queries.result(connection, query_id, result_id)


@results_router.delete("/{result_id}", status_code=204)
async def delete_result(query_id: PathId, result_id: PathId, ctx: Context) -> None:
    """Delete one answer. The attempt that made it is kept in the history of its job."""
    await ctx.database.once(query_runs.delete_result, query_id, result_id)
