"""Jobs that are paused, cancelled, resumed or retried: one, or all of a run.

The jobs are found first, by their states, and changed in batches, each in a transaction of its own unless there is one
already: a worker that ends a stage waits for a batch, not for a million jobs. A job that changed its state meanwhile is
left as it is.
"""

from collections.abc import Sequence
from typing import Final

from schemas.statuses import JobStatus
from schemas.values.runs import Target
from store.database import Connection, bulk_seconds
from store.runs.bulk import BATCH, bulk

OF_RUN = "SELECT id FROM job WHERE run_id = $1 AND status = ANY($2::text[])"

# Everything is chosen by key: the table of stages has millions of rows.
RETRY = """
WITH again AS (
    UPDATE job SET status = 'waiting', finished_at = NULL
    WHERE id = ANY($1::bigint[]) AND status = ANY($2::text[])
    RETURNING id
), ready AS (
    UPDATE stage_run AS s
    SET status = 'ready', interruptions = 0, retries = 0, enq_n = 0, not_before = NULL, finished_at = NULL,
        enq_at = now()
    FROM again WHERE s.job_id = again.id AND s.status = 'failed'
)
SELECT id FROM again
"""

HOLD = """
UPDATE job
SET status = $3::text, note = $4, finished_at = CASE WHEN $3::text = 'cancelled' THEN now() END
WHERE id = ANY($1::bigint[]) AND status = ANY($2::text[])
RETURNING id
"""

RESUME = """
WITH resumed AS (
    UPDATE job SET status = 'waiting', note = NULL
    WHERE id = ANY($1::bigint[]) AND status = ANY($2::text[])
    RETURNING id
), sent AS (
    UPDATE stage_run AS s SET enq_at = now(), enq_n = 0
    FROM resumed WHERE s.job_id = resumed.id AND s.status = 'ready'
)
SELECT id FROM resumed
"""

_ENDED_BADLY: Final = (JobStatus.FAILED, JobStatus.POISONED)
_OPEN: Final = (JobStatus.WAITING, JobStatus.RUNNING, JobStatus.INTERRUPTED)


async def retry(connection: Connection, *, job_id: int | None = None, run_id: int | None = None) -> list[int]:
    """Make the failed stages of failed and poisoned jobs ready again; earlier outputs stay. Returns those jobs."""
    return await _continue(connection, RETRY, Target(run_id, job_id), _ENDED_BADLY)


async def hold(
    connection: Connection,
    status: JobStatus,
    note: str | None,
    *,
    job_id: int | None = None,
    run_id: int | None = None,
) -> list[int]:
    """Pause or cancel every open job of a run, or one job. Returns those jobs."""
    states = (*_OPEN, JobStatus.PAUSED) if status is JobStatus.CANCELLED else _OPEN
    held: list[int] = []
    for batch in await _batches(connection, Target(run_id, job_id), states):
        held += await _change(connection, HOLD, run_id, batch, states, status, note)
    return held


async def resume(connection: Connection, *, job_id: int | None = None, run_id: int | None = None) -> list[int]:
    """Resume paused jobs. Returns those jobs."""
    return await _continue(connection, RESUME, Target(run_id, job_id), (JobStatus.PAUSED,))


async def _continue(connection: Connection, statement: str, target: Target, states: Sequence[JobStatus]) -> list[int]:
    batches = await _batches(connection, target, states)
    continued: list[int] = []
    for batch in batches:
        continued += await _change(connection, statement, target.run_id, batch, states)
    return continued


async def _batches(connection: Connection, target: Target, states: Sequence[JobStatus]) -> list[list[int]]:
    """The jobs of a target that may be in one of these states, in their order."""
    if target.job_id is not None:
        return [[target.job_id]]
    rows = await connection.fetch(OF_RUN, target.run_id, list(states))
    job_ids = sorted(row["id"] for row in rows)
    return [job_ids[start : start + BATCH] for start in range(0, len(job_ids), BATCH)]


async def _change(
    connection: Connection,
    statement: str,
    run_id: int | None,
    batch: Sequence[int],
    states: Sequence[JobStatus],
    *values: object,
) -> list[int]:
    timeout = bulk_seconds(len(batch))
    if run_id is None:
        rows = await connection.fetch(statement, batch, list(states), *values, timeout=timeout)
    else:
        async with connection.transaction(), bulk(connection, run_id):
            rows = await connection.fetch(statement, batch, list(states), *values, timeout=timeout)
    return sorted(row["id"] for row in rows)
