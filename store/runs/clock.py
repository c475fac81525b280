"""The clock of the database, and times that lie ahead of one that was set back."""

from typing import Final

from store.database import Connection
from store.runs.open_jobs import OPEN_JOBS

# Each finds its rows in an index, by the time that lies ahead.
LEASES: Final = """
UPDATE stage_run SET lease_until = now() + $1 * interval '1 second'
WHERE status = 'running' AND lease_until > now() + $1 * interval '1 second'
"""
MESSAGES: Final = "UPDATE stage_run SET enq_at = now() WHERE status = 'ready' AND enq_at > now()"
RETRIES: Final = f"""
WITH ahead AS (
    SELECT id FROM job
    WHERE status IN {OPEN_JOBS} AND sent_at IS NOT NULL AND sent_at > now() + $1 * interval '1 second'
), retried AS (
    UPDATE stage_run AS s SET not_before = now() + $1 * interval '1 second'
    FROM ahead WHERE s.job_id = ahead.id AND s.status = 'ready' AND s.not_before > now() + $1 * interval '1 second'
)
UPDATE job SET sent_at = now() + $1 * interval '1 second' FROM ahead WHERE job.id = ahead.id
"""


async def database_s(connection: Connection) -> float:
    """The database's clock, in seconds."""
    return float(await connection.fetchval("SELECT extract(epoch FROM clock_timestamp())"))


async def bring_forward(connection: Connection, *, lease_s: float, longest_retry_s: float) -> None:
    """End waits that a clock which was set back has made longer: no lease lasts, no retry waits longer than this.

    What was sent in the future counts as sent now.
    """
    await connection.execute(LEASES, lease_s)
    await connection.execute(MESSAGES)
    await connection.execute(RETRIES, longest_retry_s)
