"""The connection to Postgres: one SQLAlchemy engine over asyncpg, used two ways.

Sessions (`database.session()`) serve SQLModel queries of the command line. The statements that every stage runs
(`database.connection()`) go to asyncpg directly, each in one round trip, because they set the pace of the queue.
"""

import asyncio
import math
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias, TypeVar

import asyncpg
from pgvector.asyncpg import register_vector
from sqlalchemy import event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, InvalidatePoolError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlmodel.ext.asyncio.session import AsyncSession

from schemas.errors import RagqError

Connection: TypeAlias = asyncpg.Connection
Result = TypeVar("Result")

#: What a lost, refused or restarting database looks like. A statement group that met one of these may be run again.
CONNECTION_ERRORS: Final[tuple[type[BaseException], ...]] = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    ConnectionError,
    OSError,
    TimeoutError,
    PoolTimeout,
    InterfaceError,
)

#: What a database can answer with, and what the way to it can break with: for loops that have to outlive both.
DATABASE_ERRORS: Final[tuple[type[BaseException], ...]] = (*CONNECTION_ERRORS, asyncpg.PostgresError, DBAPIError)

#: A stored result took minutes, or money: it is worth a longer wait than a question is.
RESULT_PATIENCE_SECONDS = 300.0

_STATEMENT_SECONDS = 30.0
_CONNECT_SECONDS = 5.0


class DatabaseUnreachableError(RagqError, ConnectionError):
    """The database did not answer for as long as somebody was willing to wait. Says nothing about the work itself."""

    def __init__(self, patience_s: float, found: str) -> None:
        self.patience_s = patience_s
        super().__init__(f"The database did not answer for {patience_s:g} s ({found}); is it running?")


def sqlalchemy_url(database_url: str) -> str:
    """The URL with the driver that SQLAlchemy needs, whatever spelling of `postgresql://` came in."""
    return make_url(database_url).set(drivername="postgresql+asyncpg").render_as_string(hide_password=False)


class Database:
    """A pool of connections that lives as long as its event loop. Made inside the loop that uses it."""

    def __init__(self, database_url: str, *, pool_size: int = 4, application_name: str = "ragq") -> None:
        self._unreachable_at: float | None = None
        self.engine: AsyncEngine = create_async_engine(
            sqlalchemy_url(database_url),
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=_STATEMENT_SECONDS,
            connect_args={
                "timeout": _CONNECT_SECONDS,
                "command_timeout": _STATEMENT_SECONDS,
                "server_settings": {
                    "application_name": application_name,
                    # Without iterative scans a selective filter on an HNSW index gives too few rows or none.
                    "hnsw.iterative_scan": "strict_order",
                    "hnsw.ef_search": "100",
                },
            },
        )
        event.listen(self.engine.sync_engine, "connect", _register_vector)
        event.listen(self.engine.sync_engine, "checkout", _refuse_closed)

    @property
    def reachable_for_s(self) -> float:
        """Seconds since no connection was to be had; infinite when there always was one."""
        return math.inf if self._unreachable_at is None else time.monotonic() - self._unreachable_at

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """An asyncpg connection in autocommit mode. A connection that broke leaves the pool.

        JSON goes in as text and comes out as Python values; vectors go in and come out as pgvector's Vector.
        """
        async with self._connected() as pooled:
            raw = await pooled.get_raw_connection()
            driver: Connection | None = raw.driver_connection
            assert driver is not None
            try:
                yield driver
            except (TimeoutError, asyncio.CancelledError):
                # The statement may wait for its answer for ever; whoever got this connection next would wait too.
                driver.terminate()
                raise
            finally:
                if driver.is_closed():
                    await pooled.invalidate()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[AsyncConnection]:
        pooled = self.engine.connect()
        try:
            await pooled.start()
        except DATABASE_ERRORS as error:
            self._unreachable_at = time.monotonic()
            raise _as_met(error) from None
        try:
            yield pooled
        finally:
            await pooled.close()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        """A SQLModel session in a transaction that commits at the end of the block."""
        async with AsyncSession(self.engine, expire_on_commit=False) as session, session.begin():
            yield session

    async def steadily(self, work: Callable[[Connection], Awaitable[Result]], *, patience_s: float = 30.0) -> Result:
        """Run an idempotent group of statements, again and again while the database cannot be reached.

        Waits between tries grow from 50 ms to 1 s. After `patience_s` seconds DatabaseUnreachableError is raised.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience_s
        wait_s = 0.05
        while True:
            try:
                async with self.connection() as connection:
                    return await work(connection)
            except CONNECTION_ERRORS as error:
                lost = error
            if loop.time() + wait_s > deadline:
                raise DatabaseUnreachableError(patience_s, type(lost).__name__) from lost
            await asyncio.sleep(wait_s * random.uniform(0.5, 1.0))
            wait_s = min(wait_s * 2, 1.0)

    async def close(self) -> None:
        """Close every connection."""
        await self.engine.dispose()


def _register_vector(dbapi_connection: Any, _record: object) -> None:
    dbapi_connection.run_async(register_vector)


def _as_met(error: BaseException) -> BaseException:
    """What the driver met. SQLAlchemy wraps it, and then a server that starts looks like one that refuses."""
    if isinstance(error, DBAPIError) and error.orig is not None and error.orig.__cause__ is not None:
        return error.orig.__cause__
    return error


def _refuse_closed(dbapi_connection: Any, _record: object, _proxy: object) -> None:
    # A restart closes every connection in the pool: the first one that is met closed stands for all of them.
    if dbapi_connection.driver_connection.is_closed():
        raise InvalidatePoolError
