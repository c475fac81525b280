"""The worker processes that were seen."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from schemas.values.environments import Environment
from store.database import Connection
from store.runs import environments

ENROLL = """
INSERT INTO worker (id, host, pid, stages, version, environment_id, servers) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (id) DO UPDATE SET seen_at = now(), stages = excluded.stages, servers = excluded.servers
"""

LIVE = """
SELECT host, pid, stages, version, started_at, servers FROM worker
WHERE seen_at > now() - $1 * interval '1 second' ORDER BY started_at
"""

SEEN = "SELECT count(*) FROM worker WHERE seen_at > now() - $1 * interval '1 second'"


SEEN_WITHIN_SECONDS = 10.0
"""A worker that runs has a heartbeat younger than this."""


class LiveWorker(NamedTuple):
    """A worker that runs."""

    host: str
    pid: int
    stages: tuple[str, ...]
    version: str
    started_at: datetime
    servers: Mapping[str, str | None] | None
    """The language model servers that it asks, by the setting that names each; None for an older version of ragq."""


async def enroll(
    connection: Connection,
    worker_id: str,
    *,
    host: str,
    pid: int,
    stages: Sequence[str],
    environment: Environment,
    servers: Mapping[str, str | None] | None = None,
) -> None:
    """Make a worker known. Its heartbeat keeps the row fresh."""
    environment_id = await environments.keep(connection, environment)
    await connection.execute(
        ENROLL,
        worker_id,
        host,
        pid,
        list(stages),
        environment.ragq_version,
        environment_id,
        None if servers is None else json.dumps(dict(servers)),
    )


async def live(connection: Connection) -> list[LiveWorker]:
    """The workers that run, oldest first."""
    rows = await connection.fetch(LIVE, SEEN_WITHIN_SECONDS)
    return [LiveWorker(**{**row, "stages": tuple(row["stages"])}) for row in rows]


async def seen(connection: Connection, *, within_s: float) -> int:
    """How many workers have a heartbeat younger than `within_s` seconds."""
    found: int = await connection.fetchval(SEEN, within_s)
    return found
