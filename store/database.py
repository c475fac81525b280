"""The connection to Postgres: asyncpg and its own pool, each statement in one round trip.

The statements of stages set the pace of the queue, and borrowing a connection from SQLAlchemy takes almost as much
processor time as a statement. alembic makes the tables that SQLModel declares; neither is used for statements.
"""

import asyncio
import json
import math
import random
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from enum import StrEnum
from functools import partial
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeAlias, TypeVar

import asyncpg
import numpy as np
from numpy.typing import NDArray
from pgvector import Vector
from pgvector.asyncpg import register_vector

from schemas.errors import RagqError, StackError
from stages.ports import Vectors

Connection: TypeAlias = asyncpg.Connection
Result = TypeVar("Result")
P = ParamSpec("P")

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
    asyncpg.QueryCanceledError,
)

#: What a database can answer with, and what the way to it can break with: for loops that have to outlive both.
DATABASE_ERRORS: Final[tuple[type[BaseException], ...]] = (*UNAVAILABLE_ERRORS, asyncpg.PostgresError)

#: What asyncpg meets behind a pooler that gives each transaction another session.
_SHARED_SESSION_ERRORS: Final = (asyncpg.DuplicatePreparedStatementError, asyncpg.InvalidSQLStatementNameError)

#: A stored result took minutes, or money: it is worth a longer wait than a question is.
RESULT_RETRY_SECONDS = 300.0

#: For a statement that carries a whole file, index or vocabulary.
BULK_SECONDS = 600.0

_STATEMENT_SECONDS = 30.0
_CONNECT_SECONDS = 5.0
_CLOSE_SECONDS = 5.0


class StatementTimeoutError(TimeoutError):
    """A statement was not answered in the time it has. Whether it was carried out is not known."""


_CONDITIONS: Final[tuple[tuple[type[BaseException], str, str], ...]] = (
    (asyncpg.DiskFullError, "has no disk space left", "Free space on the disk of its data."),
    (asyncpg.OutOfMemoryError, "is out of memory", "Give it more memory."),
    (asyncpg.TooManyConnectionsError, "has no connection left", "Raise its max_connections."),
    (asyncpg.InsufficientResourcesError, "is short of resources", "See its log."),
    (asyncpg.ReadOnlySQLTransactionError, "is read-only", "Name the primary in DATABASE_URL."),
    (asyncpg.PostgresSystemError, "cannot read or write its files", "See its log."),
    (asyncpg.TransactionRollbackError, "preferred another transaction", "Try again."),
    (
        asyncpg.QueryCanceledError,
        "cancelled a statement",
        "Try again; its statement_timeout may be too short for ragq, or unset it.",
    ),
    (
        StatementTimeoutError,
        "did not answer a statement in time",
        "It is busy, waits for a lock, or hangs: `ragq status` shows the state of the stack. Try again.",
    ),
    (BaseException, "cannot be reached", "`ragq status` shows the state of the stack; `ragq up` starts it."),
)


def condition(error: BaseException) -> tuple[str, str]:
    """Why a database cannot be used that answers with one of UNAVAILABLE_ERRORS, and the remedy."""
    return next((words, remedy) for kind, words, remedy in _CONDITIONS if isinstance(error, kind))


class DatabaseUnavailableError(RagqError, ConnectionError):
    """The database could not be used within the time allowed. The work itself may be fine."""

    def __init__(self, retry_for_s: float, last: BaseException) -> None:
        self.retry_for_s = retry_for_s
        words, remedy = condition(last)
        super().__init__(f"For {retry_for_s:g} s the database {words} ({type(last).__name__}). {remedy}")


class PoolerError(RagqError):
    """DATABASE_URL names a pooler that does not keep a session for its client."""

    def __init__(self) -> None:
        super().__init__(
            "DATABASE_URL names a pooler in transaction mode, such as PgBouncer, which keeps no prepared statements. "
            "Name Postgres itself in DATABASE_URL, and the pooler in RAGQ_DATABASE_POOLER_URL."
        )


def bulk_seconds(rows: int) -> float:
    """How long a statement that writes so many rows may take: a slow disk under load writes a thousand in a second."""
    return _STATEMENT_SECONDS + rows / 1000


def asyncpg_url(database_url: str) -> str:
    """The URL without the name of a driver.

    >>> asyncpg_url("postgresql+psycopg://me:pw@db/ragq")
    'postgresql://me:pw@db/ragq'
    """
    scheme, separator, rest = database_url.partition("://")
    return f"{scheme.partition('+')[0]}{separator}{rest}"


class Database:
    """A pool of connections that lives as long as the event loop that uses it."""

    def __init__(
        self, database_url: str, *, pool_size: int = 4, application_name: str = "ragq", pooler_url: str | None = None
    ) -> None:
        """`pooler_url` is the same database behind PgBouncer in transaction mode: the pool then connects to it."""
        self.url = database_url
        self._unreachable_at: float | None = None
        options = {
            "timeout": _CONNECT_SECONDS,
            "command_timeout": _STATEMENT_SECONDS,
            "server_settings": {"application_name": application_name},
        }
        self._is_pooled = pooler_url is not None
        self._connect_direct = partial(asyncpg.connect, asyncpg_url(database_url), **options)
        self._create_pool = partial(
            asyncpg.create_pool,
            asyncpg_url(pooler_url or database_url),
            min_size=0,
            max_size=pool_size,
            max_inactive_connection_lifetime=0,
            init=_prepare,
            reset=_leave_as_it_is,
            **options,
            # The next transaction may be in another session, which knows no statement that was prepared in this one.
            **({"statement_cache_size": 0} if self._is_pooled else {}),
        )
        self._pool: asyncpg.Pool | None = None
        self._opening = asyncio.Lock()

    @property
    def reachable_for_s(self) -> float:
        """Seconds since no connection was to be had; infinite when there always was one."""
        return math.inf if self._unreachable_at is None else time.monotonic() - self._unreachable_at

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """An asyncpg connection in autocommit mode. A connection that broke leaves the pool. JSON goes in as text and
        comes out as Python values; vectors go in and come out as pgvector's Vector. Raises StatementTimeoutError for a
        statement that takes longer than 30 seconds, or than its own timeout."""
        try:
            pool = await self._open()
            lent = await pool.acquire(timeout=_STATEMENT_SECONDS)
        except _SHARED_SESSION_ERRORS:
            raise PoolerError from None
        except DATABASE_ERRORS:
            self._unreachable_at = time.monotonic()
            raise
        try:
            yield lent
        except _SHARED_SESSION_ERRORS:
            raise PoolerError from None
        except (TimeoutError, asyncio.CancelledError, asyncpg.ReadOnlySQLTransactionError) as error:
            # The statement may never be answered; the next user of this connection would wait too. And a server that
            # became a standby keeps its connections: only a new one finds the primary.
            lent.terminate()
            if isinstance(error, TimeoutError):
                raise StatementTimeoutError from error
            raise
        finally:
            await pool.release(lent)

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Connection]:
        """A connection whose session is its own, for what outlives a transaction, such as a lock of the session."""
        if not self._is_pooled:
            async with self.connection() as connection:
                yield connection
            return
        connection = await self._connect_direct()
        try:
            await _prepare(connection)
            yield connection
        finally:
            connection.terminate()

    async def _open(self) -> asyncpg.Pool:
        """The pool. It connects when a connection is asked for, and not before."""
        async with self._opening:
            if self._pool is None:
                self._pool = await self._create_pool()
            return self._pool

    async def with_retry(
        self, work: Callable[[Connection], Awaitable[Result]], *, retry_for_s: float = 30.0, in_session: bool = False
    ) -> Result:
        """Run an idempotent group of statements, again and again while the database cannot be used.

        Waits between tries grow from 50 ms to 1 s. After `retry_for_s` seconds DatabaseUnavailableError is raised. With
        `in_session` the connection is one of `session()`.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + retry_for_s
        wait_s = 0.05
        while True:
            try:
                async with self.session() if in_session else self.connection() as connection:
                    return await work(connection)
            except UNAVAILABLE_ERRORS as error:
                lost = error
            if loop.time() + wait_s > deadline:
                raise DatabaseUnavailableError(retry_for_s, lost) from lost
            await asyncio.sleep(wait_s * random.uniform(0.5, 1.0))
            wait_s = min(wait_s * 2, 1.0)

    async def once(
        self, question: Callable[Concatenate[Connection, P], Awaitable[Result]], *args: P.args, **kwargs: P.kwargs
    ) -> Result:
        """What a function of the store returns, over a connection of its own."""
        async with self.connection() as connection:
            return await question(connection, *args, **kwargs)

    async def ask(
        self, question: Callable[Concatenate[Connection, P], Awaitable[Result]], *args: P.args, **kwargs: P.kwargs
    ) -> Result:
        """What a function of the store returns, run as by `with_retry`."""
        return await self.with_retry(lambda connection: question(connection, *args, **kwargs))

    async def __aenter__(self) -> Self:
        """For a block, after which it is closed."""
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection, after a moment for those in use."""
        pool = await self._open()
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await pool.close()
        except TimeoutError:
            pool.terminate()


_ASK_FOR_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.2


async def committed(database: Database, work: Callable[[Connection], Awaitable[Result]]) -> Result:
    """Run statements in one transaction. Its result counts as soon as the transaction is committed. When the connection
    is lost during the COMMIT, or it takes too long, Postgres is asked what became of it. The error is raised when it
    was rolled back, and StackError when Postgres does not answer."""
    done: list[Result] = []
    number = ""
    try:
        async with database.connection() as connection, connection.transaction():
            result = await work(connection)
            number = await connection.fetchval("SELECT pg_current_xact_id()::text")
            done.append(result)
    except UNAVAILABLE_ERRORS as error:
        if not done:
            raise
        if not await _is_committed(database, number, error):
            raise
    return done[0]


async def _is_committed(database: Database, number: str, lost: BaseException) -> bool:
    """Whether a transaction is committed, once it has ended."""
    try:
        async with asyncio.timeout(_ASK_FOR_SECONDS):
            while True:
                found = await database.with_retry(
                    lambda connection: connection.fetchval("SELECT pg_xact_status($1::text::xid8)", number)
                )
                if found != "in progress":
                    return bool(found == "committed")
                await asyncio.sleep(_POLL_SECONDS)
    except (TimeoutError, DatabaseUnavailableError):
        raise StackError(
            "The database did not answer whether the run was stored. `ragq runs` lists the newest runs; without --new "
            "the same submission again finds its run."
        ) from lost


class LoopThread:
    """A running event loop on a daemon thread, for code that has none, or one that cannot be waited on. Connections,
    clients and the batcher live on between calls, which a loop per call would not allow."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Start a coroutine on the loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine on the loop and wait for it. When the wait is broken off, the coroutine is cancelled."""
        future = self.submit(work)
        try:
            return future.result()
        finally:
            future.cancel()

    def stop(self) -> None:
        """Cancel what still runs and end the thread."""

        async def cancel_all() -> None:
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self.run(cancel_all())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(timeout=5)
        self.loop.close()


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


class Lock(StrEnum):
    """What a lock is for. Most are taken of one thing, such as a corpus."""

    API_TOKENS = "api_tokens"
    BATCHES = "batches"
    CHUNK_INDEX = "chunk_index"
    DATA_SET = "data_set"
    ORIGINALS = "originals"
    POSTINGS = "postings"
    REFERENCE_INDEX = "reference_index"
    RUN = "run"
    VOCABULARY = "vocabulary"
    WORKS = "works"


_LOCK_KEY: Final = "hashtextextended($1, 0)"


async def hold(connection: Connection, lock: Lock, of: str | int = "") -> None:
    """Wait for a lock, which is held until the transaction ends."""
    await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK_KEY})", f"{lock} {of}")


async def try_hold(connection: Connection, lock: Lock, of: str | int = "") -> bool:
    """Like `hold`, without waiting: False where another has it."""
    return bool(await connection.fetchval(f"SELECT pg_try_advisory_xact_lock({_LOCK_KEY})", f"{lock} {of}"))


async def share(connection: Connection, lock: Lock, of: str | int = "") -> None:
    """Wait for a lock that several share, which is held until the session ends; `try_hold` fails meanwhile."""
    await connection.execute(f"SELECT pg_advisory_lock_shared({_LOCK_KEY})", f"{lock} {of}")


@asynccontextmanager
async def held(connection: Connection, lock: Lock, of: str | int = "") -> AsyncIterator[bool]:
    """Hold a lock for the block, outside of a transaction; False, without waiting, where another has it."""
    key = f"{lock} {of}"
    is_held = bool(await connection.fetchval(f"SELECT pg_try_advisory_lock({_LOCK_KEY})", key))
    try:
        yield is_held
    finally:
        if is_held:
            await connection.execute(f"SELECT pg_advisory_unlock({_LOCK_KEY})", key)


def to_pgvector(rows: Iterable[NDArray[np.float32]]) -> list[Vector]:
    """One value of the type `vector` per row, bit by bit as the row is."""
    return [Vector(row) for row in rows]


def to_numpy(vector: Vector) -> NDArray[np.float32]:
    """A vector that came out of Postgres."""
    row: NDArray[np.float32] = vector.to_numpy().astype(np.float32, copy=False)
    return row


def to_matrix(vectors: Iterable[Vector]) -> Vectors:
    """Vectors that came out of Postgres, one row each; a matrix of zero rows when there are none."""
    rows = [to_numpy(vector) for vector in vectors]
    return np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)
