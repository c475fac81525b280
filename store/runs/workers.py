"""The worker processes that were seen."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import Field

from schemas.values.base import Value
from schemas.values.runs import Environment
from store.database import Connection
from store.runs import runs

ENROLL = """
INSERT INTO worker (id, host, pid, stages, version, environment_id, servers, concurrency, broker)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (id) DO UPDATE
SET seen_at = now(), stages = excluded.stages, servers = excluded.servers, concurrency = excluded.concurrency
"""

LIVE = """
SELECT host, pid, stages, version, started_at, servers FROM worker
WHERE seen_at > now() - $1 * interval '1 second' ORDER BY started_at
"""

CAPACITIES = "SELECT stages, concurrency FROM worker WHERE seen_at > now() - $1 * interval '1 second' AND broker = $2"

# Their stages start again at once.
END_ALL = """
WITH gone AS (UPDATE worker SET seen_at = least(seen_at, now() - interval '1 minute'))
UPDATE stage_run SET lease_until = now() WHERE status = 'running'
"""

# Another process had the same number before.
SILENT = """
SELECT pid, silent_s FROM (
    SELECT DISTINCT ON (pid) pid, extract(epoch FROM now() - seen_at)::float8 AS silent_s
    FROM worker WHERE host = $1 ORDER BY pid, seen_at DESC
) AS last WHERE silent_s > $2 ORDER BY pid
"""

SEEN_WITHIN_SECONDS = 10.0
"""A worker that runs has a heartbeat younger than this."""


class LiveWorker(Value):
    """A worker process with a heartbeat in the last ten seconds, or as many as are asked for."""

    host: str = Field(examples=["node1"])
    pid: int = Field(examples=[4242])
    stages: tuple[str, ...] = Field(examples=[["embed", "rerank"]])
    version: str = Field(examples=["0.1.0"])
    started_at: datetime
    servers: dict[str, str | None]
    """The language model servers that it asks, by the setting that names each."""


async def enroll(
    connection: Connection,
    worker_id: str,
    *,
    host: str,
    pid: int,
    stages: Sequence[str],
    environment: Environment,
    servers: Mapping[str, str | None],
    concurrency: int,
    broker: str,
) -> None:
    """Make a worker known. Its heartbeat keeps the row fresh."""
    known = (worker_id, host, pid, list(stages), environment.ragq_version, await runs.keep(connection, environment))
    await connection.execute(ENROLL, *known, json.dumps(dict(servers)), concurrency, broker)


async def live(connection: Connection, *, within_s: float = SEEN_WITHIN_SECONDS) -> list[LiveWorker]:
    """The workers with a heartbeat younger than so many seconds, oldest first."""
    return [LiveWorker(**row) for row in await connection.fetch(LIVE, within_s)]


async def capacities(connection: Connection, broker: str) -> list[tuple[list[str], int]]:
    """The stages of each worker that runs on a broker, and how many it runs at a time; 0 where another process counts
    it."""
    return [tuple(row) for row in await connection.fetch(CAPACITIES, SEEN_WITHIN_SECONDS, broker)]


async def silent(connection: Connection, *, host: str, for_s: float) -> list[tuple[int, float]]:
    """The process id of each worker of a host whose last heartbeat is older than `for_s` seconds, and how old it is.
    Most ended long ago."""
    return [(row["pid"], row["silent_s"]) for row in await connection.fetch(SILENT, host, for_s)]


async def end_all(connection: Connection) -> None:
    """Record that no worker runs: the rows are those of another database."""
    await connection.execute(END_ALL)
