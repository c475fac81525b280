"""Health: whether the process is alive, and whether everything it needs is available."""

import asyncio
from enum import StrEnum
from typing import Any, Final, Literal

import asyncpg
import structlog
from celery import Celery
from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import PlainTextResponse

from api.context import ApiContext, Context
from api.security.authentication import OptionalPrincipal
from schemas.values.base import Listed
from store import migrate
from store.database import DATABASE_ERRORS
from store.runs import problems, workers
from store.runs.problems import RunProblem
from workers.app import BROKER_ERRORS

log = structlog.get_logger(__name__)

router = APIRouter(tags=["operations"])

#: A part that takes longer counts as unavailable.
TIMEOUT_SECONDS: Final = 2.0


class Check(StrEnum):
    """The result of checking a part."""

    #: It answers.
    OK = "ok"
    #: It does not answer within two seconds.
    UNAVAILABLE = "unavailable"
    #: The database lacks migrations: `ragq db migrate`.
    OTHER_REVISION = "other_revision"
    #: No worker was seen in the last ten seconds: `ragq worker`.
    NONE = "none"


Parts = dict[Literal["database", "migrations", "broker", "workers"], Check]
"""The parts that ragq needs, with one result each."""


def are_ok(parts: Parts) -> bool:
    """Every part answers."""
    return all(check is Check.OK for check in parts.values())


Ready = dict[Literal["status", "parts"], Check | Parts]
"""Whether submitted work can run now, and each part."""


@router.get("/healthz")
async def live() -> dict[Literal["status"], Literal["ok"]]:
    """Replies as long as the process runs; checks no other part."""
    return {"status": "ok"}


_UNREADY: Final[dict[int | str, dict[str, Any]]] = {503: {"model": Ready, "description": "A part is unavailable"}}


@router.get("/readyz", responses=_UNREADY)
async def ready(ctx: Context, principal: OptionalPrincipal, response: Response) -> Ready:
    """Whether the database answers and has the tables of this version, the broker answers, and a worker was seen in the
    last ten seconds. Each check has two seconds. Authenticated requests get the result of each part."""
    parts = await check_parts(ctx)
    if not are_ok(parts):
        log.warning("not_ready", **parts)
        response.status_code = 503
    status = Check.OK if are_ok(parts) else Check.UNAVAILABLE
    return {"status": status} if principal is None else {"status": status, "parts": parts}


async def check_parts(ctx: ApiContext) -> Parts:
    """Check every part, each for at most two seconds."""
    (database, migrations, seen), broker = await asyncio.gather(_check_database(ctx), _check_broker(ctx))
    return {"database": database, "migrations": migrations, "broker": broker, "workers": seen}


async def _check_database(ctx: ApiContext) -> tuple[Check, Check, Check]:
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS), ctx.database.connection() as connection:
            migrations = Check.OK if await migrate.is_newest_revision(connection) else Check.OTHER_REVISION
            try:
                seen = Check.OK if await workers.live(connection) else Check.NONE
            except asyncpg.UndefinedTableError:
                seen = Check.NONE
    except DATABASE_ERRORS:
        return Check.UNAVAILABLE, Check.UNAVAILABLE, Check.NONE
    return Check.OK, migrations, seen


async def _check_broker(ctx: ApiContext) -> Check:
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await asyncio.to_thread(_connect, ctx.broker)
    except BROKER_ERRORS:  # TimeoutError is an OSError, and so among them.
        return Check.UNAVAILABLE
    return Check.OK


def _connect(broker: Celery) -> None:
    with broker.connection_for_write(connect_timeout=TIMEOUT_SECONDS) as connection:
        connection.connect()


@router.get("/metrics", response_class=PlainTextResponse)
async def show_metrics(ctx: Context) -> Response:
    """Queue depth and age by stage, jobs by state, leases, workers, seconds of stages, calls and tokens of language
    models, seconds of requests. What is read from the database is up to ten seconds old; 503 while the database is
    unavailable."""
    ctx.metrics.streams.set(ctx.streams.open)
    return Response(await ctx.metrics.text(), media_type=CONTENT_TYPE_LATEST)


@router.get("/problems")
async def list_problems(ctx: Context) -> Listed[RunProblem]:
    """Over all runs: jobs whose queue no worker takes or whose broker does not answer, stages whose worker was lost,
    failed and paused jobs, and jobs that wait for a retry or for a language model that takes no calls."""
    is_broker_away = await _check_broker(ctx) is not Check.OK
    return Listed.whole(await ctx.database.once(problems.problems, is_broker_away=is_broker_away))
