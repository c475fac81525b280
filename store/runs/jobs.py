"""Jobs: by number, and those of a run by urgency or in order."""

from typing import Any

from schemas.statuses import JobStatus
from store.database import Connection

URGENT = """
SELECT id FROM job
WHERE run_id = $1 AND ($2::text IS NULL OR status = $2)
ORDER BY array_position($3::text[], status), ordinal LIMIT $4 OFFSET $5
"""

IN_ORDER = """
SELECT id FROM job
WHERE run_id = $1 AND ($2::text IS NULL OR status = $2)
  AND ($3::bigint IS NULL OR ordinal > (SELECT ordinal FROM job WHERE id = $3 AND run_id = $1))
ORDER BY ordinal LIMIT $4
"""

#: The states of jobs in the order in which they want to be looked at.
URGENCY = (
    JobStatus.FAILED,
    JobStatus.POISONED,
    JobStatus.INTERRUPTED,
    JobStatus.RUNNING,
    JobStatus.PAUSED,
    JobStatus.WAITING,
    JobStatus.CANCELLED,
    JobStatus.SUCCEEDED,
)


async def job(connection: Connection, job_id: int) -> dict[str, Any] | None:
    """A job's row; None when there is none of that number."""
    row = await connection.fetchrow("SELECT * FROM job WHERE id = $1", job_id)
    return None if row is None else dict(row)


async def most_urgent(
    connection: Connection, run_id: int, *, status: JobStatus | None = None, limit: int, offset: int = 0
) -> list[int]:
    """Jobs of a run (in one state) by the order of `URGENCY`, then in the order of submission."""
    rows = await connection.fetch(URGENT, run_id, status, list(URGENCY), limit, offset)
    return [row["id"] for row in rows]


async def in_order(
    connection: Connection, run_id: int, *, status: JobStatus | None = None, after: int | None = None, limit: int
) -> list[int]:
    """Jobs of a run (in one state) in the order of submission; with `after`, those behind that job."""
    return [row["id"] for row in await connection.fetch(IN_ORDER, run_id, status, after, limit)]
