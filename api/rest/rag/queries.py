"""Questions: listed, read, changed, deleted."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query

from api.context import Context
from api.parameters import MAX_ID, PathId
from api.problems import problem_responses
from api.rest.bodies.rag_queries import (
    Need,
    Passage,
    PassageChoice,
    QueryDetail,
    QueryItem,
    QueryList,
    QueryPatch,
    RetrievedChunk,
)
from api.rest.strict import StrictRoute
from schemas.errors import QueryValueError
from schemas.statuses import QueryStatus
from schemas.values.queries import ConsolidatedContext, RerankedChunk
from services.questions.edits import UNCHANGED, QueryEdit, edit, stored_context
from services.questions.lookup import get_query, lock_query
from store.database import Connection
from store.questions import deletions, queries, query_lines
from store.questions.query_lines import QueryLine
from store.questions.query_view import QueryView, existing_view

_FIELD: Final = "clean_retrieval_context"
_NAMES: Final = ("chunk_ids", "work_id", "start_line", "end_line")


def places_of(choices: Sequence[PassageChoice], passages: Sequence[Passage]) -> list[int]:
    """The places of the chosen passages, in the order of the choices.

    A choice identifies a passage by its chunks, work and lines, or by its place. A place beside them counts only where
    several passages match them: a page that saves twice sends the places of before. Raises QueryValueError for a choice
    with none of them, for one that matches no passage or several, and for one that changes the content of a passage.
    """
    stored = [passage.model_dump(mode="json") for passage in passages]
    return [_place(number, choice, stored) for number, choice in enumerate(choices, start=1)]


def _place(number: int, choice: PassageChoice, passages: Sequence[dict[str, Any]]) -> int:
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
    changed = [name for name, value in given.items() if passage[name] != value]
    if changed:
        raise QueryValueError(_FIELD, f"entry {number} changes {', '.join(changed)}; the content of passages is fixed")
    place: int = passage["place"]
    return place


def item_of(line: QueryLine) -> QueryItem:
    """A question in one line."""
    values = asdict(line)
    if line.status is QueryStatus.VEC_ERR:
        values["status"] = QueryStatus.NEEDS_EMBEDDINGS
    return QueryItem(**values, corpora=line.corpora, entities_count=line.entities, results_count=line.results)


def detail_of(view: QueryView) -> QueryDetail:
    """A question with its current outputs."""
    expansion = view.expansion
    is_rrf = view.found is not None and view.found.fusion == "rrf"
    return QueryDetail(
        **item_of(view.line).model_dump(),
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
    return [
        RetrievedChunk(
            id=chunk.chunk_id,
            rrf_score=chunk.fused_score if is_rrf else None,
            fusion_score=chunk.fused_score,
            **chunk.model_dump(exclude={"chunk_id", "fused_score"}),
        )
        for chunk in chunks
    ]


router = APIRouter(prefix="/rag/queries", tags=["questions"], route_class=StrictRoute)

Run = Annotated[
    bool,
    Query(
        description="Run the stages that the change made stale, up to the stage that the chain ends with, instead of "
        "ending the chain with what was changed.",
        examples=[True],
    ),
]


@router.get("", summary="List questions", responses=problem_responses(422))
async def list_queries(
    ctx: Context,
    limit: Annotated[int | None, Query(ge=1, le=1000, description="By default all are listed.", examples=[20])] = None,
    before: Annotated[
        int | None, Query(ge=1, le=MAX_ID, description="The last id of the previous page.", examples=[17])
    ] = None,
    status: Annotated[Need | None, Query(description="Only questions that need this next.")] = None,
) -> QueryList:
    """Questions, newest first, each with its progress and what it needs next."""
    async with ctx.database.connection() as connection:
        if status is None:
            wanted, total = None, await queries.total(connection)
        else:
            wanted = _stored(status)
            counts = await query_lines.counts(connection)
            total = sum(counts.get(name, 0) for name in wanted)
        lines = await query_lines.lines(connection, limit=limit, before=before, statuses=wanted)
    return QueryList(queries=[item_of(line) for line in lines], total=total)


@router.get("/{query_id}", summary="Read a question", responses=problem_responses(404, 422))
async def read_query(query_id: PathId, ctx: Context) -> QueryDetail:
    """A question with its expansion, its retrieved chunks and passages, and its last error."""
    async with ctx.database.connection() as connection:
        return await _detail(connection, query_id)


@router.patch("/{query_id}", summary="Change a question", responses=problem_responses(404, 409, 422))
async def change_query(query_id: PathId, ctx: Context, body: QueryPatch, run: Run = False) -> QueryDetail:
    """Change the question, its expansion, or the selection and order of passages.

    Outputs of the old values are discarded (kept in history). With `run=true` they are computed again; otherwise
    nothing runs, and `status` is what the question needs next. The prompt has the passages in this order. One request
    cannot change passages together with the question or its expansion, because they were retrieved by those.
    """
    async with ctx.database.connection() as connection, connection.transaction():
        query = await lock_query(connection, query_id)
        changes = {name: getattr(body, name) for name in body.model_fields_set - {"clean_retrieval_context"}}
        if body.original_query is None:
            changes.pop("original_query", None)
        choices = body.clean_retrieval_context
        places = UNCHANGED if choices is None else places_of(choices, passages(await stored_context(connection, query)))
        await edit(connection, query, QueryEdit(**changes, context=places), run=run)
    async with ctx.database.connection() as connection:
        return await _detail(connection, query_id)


@router.delete("/{query_id}", summary="Delete a question", status_code=204, responses=problem_responses(404, 409, 422))
async def delete_query(query_id: PathId, ctx: Context) -> None:
    """Delete a question with everything that was computed for it, its answers, and every text of them.

    Refused while a stage of it is running. A run without other questions is deleted with it.
    """
    async with ctx.database.connection() as connection:
        await deletions.delete_query(connection, await get_query(connection, query_id))


async def _detail(connection: Connection, query_id: int) -> QueryDetail:
    return detail_of(await existing_view(connection, query_id))


def _stored(status: QueryStatus) -> list[QueryStatus]:
    return [status, QueryStatus.VEC_ERR] if status is QueryStatus.NEEDS_EMBEDDINGS else [status]
