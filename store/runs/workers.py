"""The worker processes that were seen."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from store.database import Connection

ENROLL = """
INSERT INTO worker (id, host, pid, stages, version) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (id) DO UPDATE SET seen_at = now(), stages = excluded.stages
"""

SEEN = """
SELECT id, host, pid, stages, version, started_at, seen_at FROM worker
WHERE seen_at > now() - $1 * interval '1 second' ORDER BY started_at
"""


class SeenWorker(NamedTuple):
    """A worker process with a recent heartbeat."""

    id: str
    host: str
    pid: int
    stages: list[str]
    version: str
    started_at: datetime
    seen_at: datetime


async def enroll(
    connection: Connection, worker_id: str, *, host: str, pid: int, stages: Sequence[str], version: str
) -> None:
    """Make a worker known. Its heartbeat keeps the row fresh."""
    await connection.execute(ENROLL, worker_id, host, pid, list(stages), version)


async def seen(connection: Connection, *, within_s: float) -> list[SeenWorker]:
    """The workers whose heartbeat is younger than `within_s` seconds, oldest process first."""
    return [SeenWorker(**dict(row)) for row in await connection.fetch(SEEN, within_s)]
