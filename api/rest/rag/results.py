"""The answers to a question."""

from fastapi import APIRouter

from api.context import Context
from api.parameters import PathId
from api.problems import problem_responses
from api.rest.bodies.rag_steps import ResultList, ResultReply
from api.rest.strict import StrictRoute
from services.questions.lookup import get_query
from store.questions import deletions, queries

router = APIRouter(prefix="/rag/queries/{query_id}/results", tags=["questions"], route_class=StrictRoute)


@router.get("", summary="List the answers to a question", responses=problem_responses(404, 422))
async def list_results(query_id: PathId, ctx: Context) -> ResultList:
    """Every answer, newest first, with the sources of its labels."""
    async with ctx.database.connection() as connection:
        await get_query(connection, query_id)
        stored = await queries.results(connection, query_id)
    results = [ResultReply.model_validate(result) for result in stored]
    return ResultList(query_id=query_id, results=results, total=len(results))


@router.get("/{result_id}", summary="Read an answer", responses=problem_responses(404, 422))
async def read_result(query_id: PathId, result_id: PathId, ctx: Context) -> ResultReply:
    """One answer, with the sources of its labels."""
    async with ctx.database.connection() as connection:
        await get_query(connection, query_id)
        return ResultReply.model_validate(await queries.result(connection, query_id, result_id))


@router.delete("/{result_id}", summary="Delete an answer", status_code=204, responses=problem_responses(404, 422))
async def delete_result(query_id: PathId, result_id: PathId, ctx: Context) -> None:
    """Delete one answer. The attempt that made it is kept in the history of its job."""
    async with ctx.database.connection() as connection:
        await deletions.delete_result(connection, await get_query(connection, query_id), result_id)
