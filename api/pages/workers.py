"""`/workers`: the worker processes."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.context import Context
from api.rendering import page
from api.routes import PageRoute
from store.runs import workers

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/workers")
async def workers_page(request: Request, ctx: Context) -> Response:
    """What runs now."""
    async with ctx.database.connection() as connection:
        return page(request, "workers.html.j2", workers=await workers.live(connection))
