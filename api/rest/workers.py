"""The worker processes."""

from fastapi import APIRouter

from api.context import Context
from api.rest.bodies.runs import WorkersReply
from api.rest.strict import StrictRoute
from store.runs import workers

router = APIRouter(tags=["operations"], route_class=StrictRoute)


@router.get("/workers", summary="List the workers that run")
async def list_workers(ctx: Context) -> WorkersReply:
    """The worker processes with a heartbeat in the last ten seconds, the oldest first."""
    async with ctx.database.connection() as connection:
        return WorkersReply.of(await workers.live(connection))
