"""Jobs that are paused, cancelled, resumed or retried: one, or all of a run."""

from typing import NamedTuple

from schemas.statuses import JobStatus
from store.database import Connection

RETRY = """
WITH again AS (
    UPDATE job SET status = 'waiting', finished_at = NULL
    WHERE status IN ('failed', 'poisoned') AND (id = $1 OR run_id = $2)
    RETURNING id
), ready AS (
    UPDATE stage_run AS s
    SET status = 'ready', interruptions = 0, retries = 0, enq_at = now(), enq_n = 0, not_before = NULL,
        finished_at = NULL
    FROM again WHERE s.job_id = again.id AND s.status = 'failed'
)
SELECT id FROM again ORDER BY id
"""

HOLD = """
UPDATE job
SET status = $3, note = $4, finished_at = CASE WHEN $3 = 'cancelled' THEN now() END
WHERE (id = $1 OR run_id = $2)
  AND (status IN ('waiting', 'running', 'interrupted') OR ($3 = 'cancelled' AND status = 'paused'))
RETURNING id
"""

RESUME = """
WITH resumed AS (
    UPDATE job SET status = 'waiting', note = NULL WHERE status = 'paused' AND (id = $1 OR run_id = $2) RETURNING id
), sent AS (
    UPDATE stage_run AS s SET enq_at = now(), enq_n = 0
    FROM resumed WHERE s.job_id = resumed.id AND s.status = 'ready'
)
SELECT id FROM resumed ORDER BY id
"""


class Target(NamedTuple):
    """A run or a job: exactly one of the two is set."""

    run_id: int | None
    job_id: int | None

    def __str__(self) -> str:
        return f"r{self.run_id}" if self.job_id is None else f"j{self.job_id}"


async def retry(connection: Connection, *, job_id: int | None = None, run_id: int | None = None) -> list[int]:
    """Make the failed stages of failed and poisoned jobs ready again; earlier outputs stay. Returns those jobs."""
    return [row["id"] for row in await connection.fetch(RETRY, job_id, run_id)]


async def hold(
    connection: Connection,
    status: JobStatus,
    note: str | None,
    *,
    job_id: int | None = None,
    run_id: int | None = None,
) -> list[int]:
    """Pause or cancel every open job of a run, or one job. Returns those jobs."""
    return [row["id"] for row in await connection.fetch(HOLD, job_id, run_id, status, note)]


async def resume(connection: Connection, *, job_id: int | None = None, run_id: int | None = None) -> list[int]:
    """Resume paused jobs. Returns those jobs."""
    return [row["id"] for row in await connection.fetch(RESUME, job_id, run_id)]
