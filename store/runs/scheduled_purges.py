"""The purges that workers carry out once a day, as their settings say: when, and what went."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final, NamedTuple

from store.database import Connection
from store.runs.purging import Purged

#: Any number, the same for every ragq: one worker purges at a time.
_LOCK: Final = 7_241_692

TAKE = "SELECT pg_try_advisory_lock($1)"
RELEASE = "SELECT pg_advisory_unlock($1)"

# A time in the future is one of a clock that was set back.
IS_DUE = """
SELECT NOT EXISTS (
    SELECT FROM scheduled_purge WHERE ended_at IS NOT NULL AND began_at BETWEEN now() - interval '1 day' AND now()
)
"""

CONTINUE = "SELECT id FROM scheduled_purge WHERE ended_at IS NULL ORDER BY id DESC LIMIT 1"

BEGIN = "INSERT INTO scheduled_purge DEFAULT VALUES RETURNING id"

COUNT = """
UPDATE scheduled_purge SET runs = runs + 1, jobs = jobs + $2, attempts = attempts + $3, calls = calls + $4 WHERE id = $1
"""

END = "UPDATE scheduled_purge SET ended_at = now(), error_type = $2 WHERE id = $1"

LAST = """
SELECT began_at, ended_at, runs, jobs, attempts, calls, error_type, began_at < now() - interval '2 days' AS is_old
FROM scheduled_purge ORDER BY id DESC LIMIT 1
"""


class ScheduledPurge(NamedTuple):
    """A purge by a worker."""

    began_at: datetime
    ended_at: datetime | None
    """None while it goes on."""
    runs: int
    jobs: int
    attempts: int
    calls: int
    error_type: str | None
    """The type of the error that it ended with."""
    is_old: bool
    """Another one should have begun since."""


@asynccontextmanager
async def turn(connection: Connection) -> AsyncIterator[int | None]:
    """The purge of this day, until the end of the block; None when it is done, or when another worker carries it out.

    One that was broken off is continued. The connection has a session of its own.
    """
    if not await connection.fetchval(TAKE, _LOCK):
        yield None
        return
    try:
        if await connection.fetchval(IS_DUE):
            yield await connection.fetchval(CONTINUE) or await connection.fetchval(BEGIN)
        else:
            yield None
    finally:
        if not connection.is_closed():
            await connection.fetchval(RELEASE, _LOCK)


async def count(connection: Connection, purge_id: int, one: Purged) -> None:
    """A run is purged."""
    await connection.execute(COUNT, purge_id, one.jobs, one.attempts, one.calls)


async def end(connection: Connection, purge_id: int, error_type: str | None = None) -> None:
    """The purge of this day is over."""
    await connection.execute(END, purge_id, error_type)


async def last(connection: Connection) -> ScheduledPurge | None:
    """The newest one; None if there was none."""
    row = await connection.fetchrow(LAST)
    return None if row is None else ScheduledPurge(**dict(row))
