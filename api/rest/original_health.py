"""The state of ragq, and what a new database starts with, under the addresses and names of the original's API.

Its web client uses them."""

import asyncio
import time
from collections.abc import Awaitable
from importlib.metadata import version
from typing import Final, Literal, TypeVar

from fastapi import APIRouter
from pydantic import Field

from api.context import Context
from api.problems import problem_responses
from api.rest.bodies.base import Body, Reply, with_example
from api.rest.health import Check, Parts, check_broker, check_database, check_parts
from api.rest.strict import StrictRoute
from api.security.authentication import OptionalPrincipal
from schemas.errors import Refused
from store import revision
from store.seeds import SEEDED_TABLES, seed

router = APIRouter(tags=["operations"], route_class=StrictRoute)

T = TypeVar("T")

#: What to do about a part that is not available.
_REMEDIES: Final = {
    "database": "`ragq up` starts the database, or DATABASE_URL names another.",
    "migrations": "`ragq migrate` applies them.",
    "broker": "`ragq up` starts the broker, or REDIS_URL names another.",
    "workers": "`ragq up` or `ragq worker` starts one.",
}
#: The original's client groups checks by these names.
_NAMES: Final = {
    "database": "Connection: database",
    "migrations": "Table: alembic_version",
    "broker": "Connection: broker",
    "workers": "Connection: workers",
}


class Health(Reply):
    """Whether submitted work can run now."""

    status: Literal["healthy", "degraded"] = Field(examples=["healthy"])
    version: str | None = Field(default=None, examples=["0.1.0"])
    """For authenticated requests alone."""


class InitStatus(Reply):
    """Which parts are ready."""

    database_initialized: bool
    """The database has every migration."""
    embeddings_ready: bool
    """A worker was seen in the last ten seconds."""
    models_loaded: bool
    """The same: workers load the models."""
    message: str = Field(examples=["Every part answers."])


class Component(Reply):
    """One part."""

    status: Literal["healthy", "unhealthy"] = Field(examples=["healthy"])
    latency_ms: float | None = Field(examples=[1.4])
    """How long its check took; none of its own for workers, which the database lists."""


class InitHealth(Reply):
    """Every part."""

    status: Literal["healthy", "degraded"] = Field(examples=["healthy"])
    components: dict[str, Component]


class DbCheck(Reply):
    """The result of one check."""

    name: str = Field(examples=["Connection: database"])
    passed: bool
    message: str = Field(examples=["ok"])
    details: str | None = Field(examples=["`ragq migrate` applies them."])
    """What to do when it did not pass."""


class DbHealth(Reply):
    """Every check."""

    results: list[DbCheck]
    all_passed: bool
    connection_ok: bool
    """The database answers."""


class InitDatabaseBody(Body):
    """What to do with the database."""

    model_config = with_example(reset=False)

    reset: bool = False
    """Refused if true: nothing is dropped over REST."""
    create_indexes: bool = True
    """Indexes belong to the migrations, and exist either way."""


class InitDatabase(Reply):
    """What the database has now."""

    success: bool
    message: str = Field(examples=["The database has every preset and template that a new one starts with."])
    tables_created: list[str] = Field(examples=[["rag_config"]])
    """The tables that were looked through."""


@router.get("/health", summary="Is ragq healthy?", response_model_exclude_none=True)
async def show_health(ctx: Context, principal: OptionalPrincipal) -> Health:
    """`degraded` when a part is not available; `/readyz` returns 503 then, and names the part."""
    parts = await check_parts(ctx)
    return Health(status=_word(parts), version=None if principal is None else version("ragq"))


@router.get("/init/status", summary="Which parts are ready?")
async def show_init_status(ctx: Context) -> InitStatus:
    """Database, embeddings and models, as the original's client asks for them."""
    parts = await check_parts(ctx)
    has_worker = parts.workers is Check.OK
    failed = [_REMEDIES[name] for name, check in parts if check is not Check.OK]
    return InitStatus(
        database_initialized=parts.migrations is Check.OK,
        embeddings_ready=has_worker,
        models_loaded=has_worker,
        message=" ".join(failed) or "Every part answers.",
    )


@router.get("/init/health", summary="Check every part")
async def show_init_health(ctx: Context) -> InitHealth:
    """Each part with the time that its check took."""
    (found, database_ms), (broker, broker_ms) = await asyncio.gather(
        _timed(check_database(ctx)), _timed(check_broker(ctx))
    )
    database, migrations, seen = found
    parts = Parts(database=database, migrations=migrations, broker=broker, workers=seen)
    took = {"database": database_ms, "migrations": database_ms, "broker": broker_ms}
    return InitHealth(
        status=_word(parts),
        components={
            name: Component(status="healthy" if check is Check.OK else "unhealthy", latency_ms=took.get(name))
            for name, check in parts
        },
    )


@router.get("/init/db-health", summary="Check the database")
async def show_db_health(ctx: Context) -> DbHealth:
    """Each check with what to do about it."""
    parts = await check_parts(ctx)
    results = [
        DbCheck(
            name=_NAMES[name],
            passed=check is Check.OK,
            message=check,
            details=None if check is Check.OK else _REMEDIES[name],
        )
        for name, check in parts
    ]
    return DbHealth(results=results, all_passed=parts.are_ok, connection_ok=parts.database is Check.OK)


@router.post(
    "/init/database",
    summary="Add missing presets and templates",
    status_code=201,
    responses=problem_responses(409, 422),
)
async def init_database(ctx: Context, body: InitDatabaseBody | None = None) -> InitDatabase:
    """Add presets where there is none, and the first version of each template that has none, as `ragq migrate` does.

    What is stored stays. A database that lacks migrations is refused, and so is `reset`.
    """
    if body is not None and body.reset:
        raise Refused("Nothing is dropped over REST; delete runs, corpora and vocabularies one by one.")
    async with ctx.database.connection() as connection, connection.transaction():
        if not await revision.is_newest(connection):
            raise Refused("The database has other migrations than this version of ragq: `ragq migrate` applies them.")
        await seed(connection)
    return InitDatabase(
        success=True,
        message="The database has every preset and template that a new one starts with.",
        tables_created=list(SEEDED_TABLES),
    )


def _word(parts: Parts) -> Literal["healthy", "degraded"]:
    return "healthy" if parts.are_ok else "degraded"


async def _timed(check: Awaitable[T]) -> tuple[T, float]:
    began = time.perf_counter()
    return await check, round(1000 * (time.perf_counter() - began), 1)
