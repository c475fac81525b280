"""How full the queue is, in the numbers that operators watch."""

from dataclasses import dataclass
from typing import NamedTuple

from store.database import Connection
from store.runs import workers
from store.runs.open_jobs import OPEN_JOBS

# A row waits since its message was first sent. Where it had to be sent again, that moment is gone, and it waits since
# its worker was lost, or the stage before it was stored.
QUEUES = f"""
SELECT coalesce(s.queue, s.stage) AS queue, count(*) AS due,
       extract(epoch FROM now() - min(greatest(
           CASE WHEN s.enq_n = 0 THEN s.enq_at END,
           CASE WHEN s.enq_n > 0 OR s.enq_at IS NULL THEN coalesce(s.finished_at, b.finished_at, j.created_at) END,
           s.not_before
       )))::float8 AS oldest_seconds
FROM stage_run AS s
JOIN job AS j ON j.id = s.job_id
LEFT JOIN stage_run AS b ON b.job_id = s.job_id AND b.position = s.position - 1
WHERE s.status = 'ready' AND j.status IN {OPEN_JOBS} AND (s.not_before IS NULL OR s.not_before <= now())
GROUP BY 1
"""

JOBS = "SELECT kind, status, count(*) AS jobs FROM job GROUP BY kind, status"

LEASES = """
SELECT count(*) FILTER (WHERE lease_until >= now()) AS held, count(*) FILTER (WHERE lease_until < now()) AS expired
FROM stage_run WHERE status = 'running'
"""

_SEEN_WITHIN_SECONDS = 10.0


class Queue(NamedTuple):
    """The stages that are due in one queue."""

    due: int
    oldest_seconds: float
    """How long the one that waits longest has been due."""


@dataclass(frozen=True, kw_only=True)
class QueueFigures:
    """The queue at one moment."""

    queues: dict[str, Queue]
    """By name; those without due rows are absent."""
    jobs: dict[tuple[str, str], int]
    """By kind and state."""
    leases_held: int
    leases_expired: int
    """Claims whose lease ran out, and that the reaper has not taken back yet."""
    workers: int
    """Worker processes with a heartbeat in the last ten seconds."""


async def queue_figures(connection: Connection) -> QueueFigures:
    """The queue as it is now."""
    leases = await connection.fetchrow(LEASES)
    return QueueFigures(
        queues={row["queue"]: Queue(row["due"], row["oldest_seconds"]) for row in await connection.fetch(QUEUES)},
        jobs={(row["kind"], row["status"]): row["jobs"] for row in await connection.fetch(JOBS)},
        leases_held=leases["held"],
        leases_expired=leases["expired"],
        workers=await workers.seen(connection, within_s=_SEEN_WITHIN_SECONDS),
    )
