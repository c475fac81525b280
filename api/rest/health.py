"""Health: whether the process lives, and whether everything it needs is there."""

import asyncio
from enum import StrEnum
from typing import Final

import asyncpg
import structlog
from fastapi import APIRouter, Response
from pydantic import Field
from starlette.responses import JSONResponse

from api.context import ApiContext, Context
from api.rest.bodies.base import Reply
from api.security.authentication import OptionalPrincipal
from services.dispatch import is_broker_available
from store import revision
from store.database import DATABASE_ERRORS
from store.runs import workers

log = structlog.get_logger(__name__)

router = APIRouter(tags=["operations"])

#: A worker gives a sign of life every second.
SEEN_WITHIN_SECONDS: Final = 10.0
#: What takes longer is as good as away.
PATIENCE_SECONDS: Final = 2.0


class Live(Reply):
    """The process lives."""

    status: str = Field(examples=["ok"])


class Part(StrEnum):
    """How a part stands."""

    #: It answers.
    OK = "ok"
    #: It does not answer within two seconds.
    AWAY = "away"
    #: The database lacks migrations, or has newer ones: `ragq migrate`.
    OTHER_REVISION = "other_revision"
    #: No worker gave a sign of life in the last ten seconds: `ragq worker`.
    NONE = "none"


class Parts(Reply):
    """What ragq needs, one word each."""

    database: Part
    migrations: Part
    broker: Part
    workers: Part


class Ready(Reply):
    """Whether work that is submitted now is done now."""

    status: Part = Field(examples=["ok"])
    """`ok`, or `away` when anything is missing."""
    parts: Parts | None = None
    """What each part says; not told to strangers."""


@router.get("/healthz", summary="Is the process alive?")
async def live() -> Live:
    """Answers as long as the process does, and asks nobody."""
    return Live(status="ok")


@router.get(
    "/readyz",
    summary="Can work be done?",
    response_model=Ready,
    response_model_exclude_none=True,
    responses={503: {"model": Ready, "description": "A part is missing"}},
)
async def ready(ctx: Context, principal: OptionalPrincipal) -> Response:
    """Whether the database answers and has the tables of this version, the broker answers, and a worker was seen in the
    last ten seconds. Each part gets two seconds."""
    (database, migrations, seen), broker = await asyncio.gather(_database(ctx), _broker(ctx))
    parts = Parts(database=database, migrations=migrations, broker=broker, workers=seen)
    is_ready = {database, migrations, broker, seen} == {Part.OK}
    if not is_ready:
        log.warning("not_ready", **parts.model_dump(mode="json"))
    reply = Ready(status=Part.OK if is_ready else Part.AWAY, parts=None if principal is None else parts)
    return JSONResponse(reply.model_dump(mode="json", exclude_none=True), 200 if is_ready else 503)


async def _database(ctx: ApiContext) -> tuple[Part, Part, Part]:
    """The database, its migrations, and the workers that it saw."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS), ctx.database.connection() as connection:
            migrations = Part.OK if await revision.is_newest(connection) else Part.OTHER_REVISION
            try:
                seen = Part.OK if await workers.seen(connection, within_s=SEEN_WITHIN_SECONDS) else Part.NONE
            except asyncpg.UndefinedTableError:
                seen = Part.NONE
    except DATABASE_ERRORS:
        return Part.AWAY, Part.AWAY, Part.NONE
    return Part.OK, migrations, seen


async def _broker(ctx: ApiContext) -> Part:
    return Part.OK if await is_broker_available(ctx.broker, timeout_s=PATIENCE_SECONDS) else Part.AWAY
