"""`/runs`: the submitted runs, newest first, with their states."""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from api.context import Context
from api.parameters import MAX_ID
from api.rendering import page
from api.routes import PageRoute
from stages.reports.run_words import asked_for
from store.runs import overviews

PAGE_ROWS: Final = 25
KINDS: Final = ("participant", "query", "tags", "index")

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/runs")
async def runs_page(
    request: Request,
    ctx: Context,
    kind: Literal["", "participant", "query", "tags", "index"] = "",
    before: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
) -> Response:
    """The newest runs, of one kind where it is named, or those before a run."""
    async with ctx.database.connection() as connection:
        found = await overviews.overviews(connection, limit=PAGE_ROWS + 1, before=before, kind=kind or None)
    shown = found[:PAGE_ROWS]
    return page(
        request,
        "runs.html.j2",
        runs=shown,
        asked={run.id: asked_for(run.request) for run in shown},
        kinds=KINDS,
        kind=kind,
        before=before,
        older=shown[-1].id if len(found) > PAGE_ROWS else None,
    )
