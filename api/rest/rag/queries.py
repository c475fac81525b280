"""Questions: listed, read, changed, deleted."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.context import Context
from api.parameters import MAX_ID, PathId
from api.problems import problem_responses
from api.rest.bodies.rag_queries import Need, QueryDetail, QueryList, QueryPatch
from api.rest.rag.choices import places_of
from api.rest.rag.shown import detail_of, item_of, passages
from api.rest.strict import StrictRoute
from schemas.statuses import QueryStatus
from services.questions.edits import UNCHANGED, QueryEdit, edit, stored_context
from services.questions.lookup import get_query, lock_query
from store.database import Connection
from store.questions import deletions, queries, query_lines
from store.questions.query_view import existing_view

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
