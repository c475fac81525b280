"""The worker processes that were seen."""

from collections.abc import Sequence

from schemas.values.environments import Environment
from store.database import Connection
from store.runs import environments

ENROLL = """
INSERT INTO worker (id, host, pid, stages, version, environment_id) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (id) DO UPDATE SET seen_at = now(), stages = excluded.stages
"""

SEEN = "SELECT count(*) FROM worker WHERE seen_at > now() - $1 * interval '1 second'"


async def enroll(
    connection: Connection,
    worker_id: str,
    *,
    host: str,
    pid: int,
    stages: Sequence[str],
    environment: Environment,
) -> None:
    """Make a worker known. Its heartbeat keeps the row fresh."""
    environment_id = await environments.keep(connection, environment)
    await connection.execute(ENROLL, worker_id, host, pid, list(stages), environment.ragq_version, environment_id)


async def seen(connection: Connection, *, within_s: float) -> int:
    """How many workers have a heartbeat younger than `within_s` seconds."""
    found: int = await connection.fetchval(SEEN, within_s)
    return found
