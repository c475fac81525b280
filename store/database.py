"""The connection to Postgres: asyncpg and its own pool, each statement in one round trip.

The statements of stages set the pace of the queue, and borrowing a connection from SQLAlchemy takes almost as much
processor time as a statement. SQLModel declares the tables and alembic makes them; neither is used for statements.
"""

import asyncio
import json
import math
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, NamedTuple, TypeAlias, TypeVar

import asyncpg
from pgvector.asyncpg import register_vector

from schemas.errors import RagqError

Connection: TypeAlias = asyncpg.Connection
Result = TypeVar("Result")

#: What a lost, refused, restarting, read-only or exhausted database looks like, and a transaction that gave way to
#: another. Nothing is wrong with a statement group that met one of these: it may be run again.
UNAVAILABLE_ERRORS: Final[tuple[type[BaseException], ...]] = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresSystemError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.TransactionRollbackError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    ConnectionError,
    OSError,
    TimeoutError,
)

#: What a database can answer with, and what the way to it can break with: for loops that have to outlive both.
DATABASE_ERRORS: Final[tuple[type[BaseException], ...]] = (*UNAVAILABLE_ERRORS, asyncpg.PostgresError)

#: A stored result took minutes, or money: it is worth a longer wait than a question is.
RESULT_RETRY_SECONDS = 300.0

_STATEMENT_SECONDS = 30.0
_CONNECT_SECONDS = 5.0
_CLOSE_SECONDS = 5.0


class Condition(NamedTuple):
    """Why a database cannot be used."""

    words: str
    remedy: str


_CONDITIONS: Final[tuple[tuple[type[BaseException], Condition], ...]] = (
    (asyncpg.DiskFullError, Condition("has no disk space left", "Free space on the disk of its data.")),
    (asyncpg.OutOfMemoryError, Condition("is out of memory", "Give it more memory.")),
    (asyncpg.TooManyConnectionsError, Condition("has no connection left", "Raise its max_connections.")),
    (asyncpg.InsufficientResourcesError, Condition("is short of resources", "See its log.")),
    (asyncpg.ReadOnlySQLTransactionError, Condition("is read-only", "Name the primary in DATABASE_URL.")),
    (asyncpg.PostgresSystemError, Condition("cannot read or write its files", "See its log.")),
    (asyncpg.TransactionRollbackError, Condition("preferred another transaction", "Try again.")),
)

_AWAY: Final = Condition("cannot be reached", "`ragq ps` shows the state of the stack; `ragq up` starts it.")


def condition(error: BaseException) -> Condition:
    """What one of UNAVAILABLE_ERRORS shows of the database."""
    return next((found for kind, found in _CONDITIONS if isinstance(error, kind)), _AWAY)


class DatabaseUnavailableError(RagqError, ConnectionError):
    """The database could not be used within the time allowed. The work itself may be fine."""

    def __init__(self, retry_for_s: float, last: BaseException) -> None:
        self.retry_for_s = retry_for_s
        found = condition(last)
        super().__init__(f"For {retry_for_s:g} s the database {found.words} ({type(last).__name__}). {found.remedy}")


def asyncpg_url(database_url: str) -> str:
    """The URL without the name of a driver.

    >>> asyncpg_url("postgresql+psycopg://me:pw@db/ragq")
    'postgresql://me:pw@db/ragq'
    """
    scheme, separator, rest = database_url.partition("://")
    return f"{scheme.partition('+')[0]}{separator}{rest}"


class Database:
    """A pool of connections that lives as long as the event loop that uses it."""

    def __init__(self, database_url: str, *, pool_size: int = 4, application_name: str = "ragq") -> None:
        self.url = database_url
        self._unreachable_at: float | None = None
        self._create_pool = partial(
            asyncpg.create_pool,
            asyncpg_url(database_url),
            min_size=0,
            max_size=pool_size,
            max_inactive_connection_lifetime=0,
            init=_prepare,
            reset=_leave_as_it_is,
            timeout=_CONNECT_SECONDS,
            command_timeout=_STATEMENT_SECONDS,
            server_settings={
                "application_name": application_name,
                # Without iterative scans a selective filter on an HNSW index gives too few rows or none.
                "hnsw.iterative_scan": "strict_order",
                "hnsw.ef_search": "100",
            },
        )
        self._pool: asyncpg.Pool | None = None
        self._opening = asyncio.Lock()

    @property
    def reachable_for_s(self) -> float:
        """Seconds since no connection was to be had; infinite when there always was one."""
        return math.inf if self._unreachable_at is None else time.monotonic() - self._unreachable_at

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """An asyncpg connection in autocommit mode. A connection that broke leaves the pool.

        JSON goes in as text and comes out as Python values; vectors go in and come out as pgvector's Vector.
        """
        try:
            pool = await self._open()
            lent = await pool.acquire(timeout=_STATEMENT_SECONDS)
        except DATABASE_ERRORS:
            self._unreachable_at = time.monotonic()
            raise
        try:
            yield lent
        except (TimeoutError, asyncio.CancelledError, asyncpg.ReadOnlySQLTransactionError):
            # The statement may never be answered; the next user of this connection would wait too. And a server that
            # became a standby keeps its connections: only a new one finds the primary.
            lent.terminate()
            raise
        finally:
            await pool.release(lent)

    async def _open(self) -> asyncpg.Pool:
        """The pool. It connects when a connection is asked for, and not before."""
        async with self._opening:
            if self._pool is None:
                self._pool = await self._create_pool()
            return self._pool

    async def with_retry(self, work: Callable[[Connection], Awaitable[Result]], *, retry_for_s: float = 30.0) -> Result:
        """Run an idempotent group of statements, again and again while the database cannot be used.

        Waits between tries grow from 50 ms to 1 s. After `retry_for_s` seconds DatabaseUnavailableError is raised.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + retry_for_s
        wait_s = 0.05
        while True:
            try:
                async with self.connection() as connection:
                    return await work(connection)
            except UNAVAILABLE_ERRORS as error:
                lost = error
            if loop.time() + wait_s > deadline:
                raise DatabaseUnavailableError(retry_for_s, lost) from lost
            await asyncio.sleep(wait_s * random.uniform(0.5, 1.0))
            wait_s = min(wait_s * 2, 1.0)

    async def close(self) -> None:
        """Close every connection, after a moment for those in use."""
        pool = await self._open()
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await pool.close()
        except TimeoutError:
            pool.terminate()


async def _prepare(connection: Connection) -> None:
    await register_vector(connection)
    # In its binary form, which COPY needs, jsonb is its text behind a version byte.
    await connection.set_type_codec(
        "jsonb",
        schema="pg_catalog",
        format="binary",
        encoder=lambda text: b"\x01" + text.encode(),
        decoder=lambda stored: json.loads(stored[1:]),
    )


async def _leave_as_it_is(_connection: Connection) -> None:
    """No statement of ours changes a session; to reset it would cost a round trip each time it is given back."""
