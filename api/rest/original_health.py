"""The state of ragq under the addresses and names of the original's API, whose web client reads them."""

import asyncio
import time
from collections.abc import Awaitable
from importlib.metadata import version
from typing import Final, Literal, TypeVar

from fastapi import APIRouter
from pydantic import Field

from api.context import Context
from api.rest.bodies.base import Reply
from api.rest.health import Check, Parts, check_broker, check_database, check_parts
from api.security.authentication import OptionalPrincipal

router = APIRouter(tags=["operations"])

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


def _word(parts: Parts) -> Literal["healthy", "degraded"]:
    return "healthy" if parts.are_ok else "degraded"


async def _timed(check: Awaitable[T]) -> tuple[T, float]:
    began = time.perf_counter()
    return await check, round(1000 * (time.perf_counter() - began), 1)
