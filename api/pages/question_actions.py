"""The buttons of a question. Each changes rows, sends messages for what is due, and redirects to a page."""

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Depends, Form
from starlette.responses import RedirectResponse, Response

from api.context import Context
from api.parameters import PathId
from api.routes import PageRoute
from api.security.csrf import csrf
from schemas.values.runs import Target
from services.questions.lookup import get_query
from services.questions.steps import Step, run_stages, take_step
from services.runs import Action, control
from store.questions import deletions

router = APIRouter(route_class=PageRoute, include_in_schema=False, dependencies=[Depends(csrf)])


class Back(StrEnum):
    """The page to return to after an action."""

    LIST = "list"
    QUESTION = "question"
    INSPECT = "inspect"


BackTo = Annotated[Back, Form()]


@router.post("/rag/{query_id:int}/steps")
async def take(query_id: PathId, ctx: Context, step: Annotated[Step, Form()], back: BackTo = Back.LIST) -> Response:
    """Run one step."""
    async with ctx.database.connection() as connection:
        await take_step(connection, await get_query(connection, query_id), step)
    return _redirect_back(back, query_id)


@router.post("/rag/{query_id:int}/run")
async def run(query_id: PathId, ctx: Context, back: BackTo = Back.LIST) -> Response:
    """Run every remaining step up to the answer. Work continues when the tab is closed."""
    async with ctx.database.connection() as connection:
        await run_stages(connection, await get_query(connection, query_id))
    return _redirect_back(back, query_id)


@router.post("/rag/{query_id:int}/search")
async def search_again(query_id: PathId, ctx: Context, back: BackTo = Back.LIST) -> Response:
    """Run retrieval and consolidation again."""
    async with ctx.database.connection() as connection:
        asked = await get_query(connection, query_id)
        await take_step(connection, asked, Step.RETRIEVE, through=Step.CONSOLIDATE)
    return _redirect_back(back, query_id)


@router.post("/rag/{query_id:int}/decision")
async def decide(
    query_id: PathId, ctx: Context, action: Annotated[Action, Form()], back: BackTo = Back.LIST
) -> Response:
    """Retry, pause, resume or cancel."""
    async with ctx.database.connection() as connection:
        query = await get_query(connection, query_id)
    await control(ctx.database, Target(None, query.job_id), action)
    return _redirect_back(back, query_id)


@router.post("/rag/{query_id:int}/delete")
async def delete(query_id: PathId, ctx: Context) -> Response:
    """Delete the question, and everything that was computed for it."""
    async with ctx.database.connection() as connection:
        await deletions.delete_query(connection, await get_query(connection, query_id))
    return RedirectResponse("/rag", 303)


def _redirect_back(back: Back, query_id: int) -> Response:
    paths = {Back.LIST: f"/rag#question-{query_id}", Back.QUESTION: f"/rag/{query_id}"}
    return RedirectResponse(paths.get(back, f"/rag/{query_id}/inspect"), 303)
