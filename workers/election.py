"""Which process of a cluster dispatches: the one whose session holds a lock in Postgres.

The lock goes with the session: Postgres releases it when the process dies, and also when nothing was heard of it for
SILENT_SECONDS, so that a process that is cut off has a successor. Whoever holds it works through that session alone,
and so can do nothing once it has lost the lock.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import asyncpg

from store.database import Connection, Database, asyncpg_url
from store.runs import backlog

#: Silence after which Postgres ends the session of the dispatcher.
SILENT_SECONDS: Final = 1.4
#: Between two looks whether the lock is free.
LOOK_SECONDS: Final = 0.5

_STATEMENT_SECONDS = 5.0

# The first is released at once: it only shows that nobody holds the lock, without a connection for each candidate.
IS_FREE = "SELECT pg_try_advisory_xact_lock(hashtextextended('ragq dispatcher ' || $1, 0))"
TAKE = "SELECT pg_advisory_lock(hashtextextended('ragq dispatcher ' || $1, 0))"
SETTINGS = f"""
{backlog.BY_INDEX};
SET idle_session_timeout = {SILENT_SECONDS * 1000:.0f};
SET idle_in_transaction_session_timeout = {SILENT_SECONDS * 1000:.0f};
SET lock_timeout = {LOOK_SECONDS * 1000:.0f}
"""


class Election:
    """The lock of one cluster: the workers that share a database and a broker."""

    def __init__(self, database: Database, cluster: str) -> None:
        self._database = database
        self._cluster = cluster

    @asynccontextmanager
    async def won(self) -> AsyncIterator[Connection | None]:
        """The session that holds the lock, until the end of the block; None when another process has it."""
        async with self._database.connection() as lent:
            is_free = await lent.fetchval(IS_FREE, self._cluster)
        if not is_free:
            yield None
            return
        connection = await asyncpg.connect(
            asyncpg_url(self._database.url),
            timeout=_STATEMENT_SECONDS,
            command_timeout=_STATEMENT_SECONDS,
            server_settings={"application_name": "ragq dispatcher"},
        )
        try:
            await connection.execute(SETTINGS)
            yield connection if await _takes(connection, self._cluster) else None
        finally:
            connection.terminate()


async def _takes(connection: Connection, cluster: str) -> bool:
    try:
        await connection.execute(TAKE, cluster)
    except (TimeoutError, asyncpg.LockNotAvailableError):
        return False
    await connection.execute("SET lock_timeout = DEFAULT")
    return True
