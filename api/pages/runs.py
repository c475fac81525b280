"""`/runs`: the submitted runs, newest first, with their states."""

from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from api.context import Context
from api.pages.run_changes import LastDeletion
from api.parameters import MAX_ID, SearchWords
from api.rendering import page
from api.routes import PageRoute
from stages.reports.words import asked_for
from store.runs import overviews

PAGE_ROWS: Final = 25
KINDS: Final = ("participant", "query", "tags", "index", "work", "evaluation")

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/runs")
async def runs_page(
    request: Request,
    ctx: Context,
    deletion: LastDeletion,
    kind: Literal["", "participant", "query", "tags", "index", "work", "evaluation"] = "",
    search: SearchWords = "",
    before: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
) -> Response:
    """The newest runs, of one kind and with the words of a search where these are given, or those before a run."""
    async with ctx.database.connection() as connection:
        found = await overviews.overviews(
            connection, limit=PAGE_ROWS + 1, before=before, kind=kind or None, search=search
        )
    shown = found[:PAGE_ROWS]
    return page(
        request,
        "runs.html.j2",
        runs=shown,
        asked={run.id: asked_for(run.request) for run in shown},
        kind=kind,
        search=search,
        before=before,
        tabs={one: _address(kind=one, search=search) for one in ("", *KINDS)},
        here=_address(kind=kind, search=search, before=before),
        newest=_address(kind=kind, search=search),
        older=_address(kind=kind, search=search, before=shown[-1].id) if len(found) > PAGE_ROWS else None,
        deletion=deletion,
    )


def _address(**chosen: Any) -> str:
    """The list with these parameters; those without a value are left out."""
    query = urlencode({name: value for name, value in chosen.items() if value})
    return "/runs" + (f"?{query}" if query else "")
