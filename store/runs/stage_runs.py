"""The stages of the jobs of a run, as they stand."""

from collections.abc import Sequence
from typing import Any

from store.database import Connection

GRID = """
SELECT j.id, j.ordinal, j.mode, j.subject, j.status AS job_status, j.finished_at AS job_finished_at, j.note,
       s.stage, s.status, s.attempts, s.started_at, s.finished_at, s.not_before,
       extract(epoch FROM coalesce(s.finished_at, now()) - s.started_at)::float8 AS seconds
FROM job AS j JOIN stage_run AS s ON s.job_id = j.id
WHERE j.run_id = $1 AND ($2::bigint[] IS NULL OR j.id = ANY($2))
ORDER BY j.ordinal, s.position
"""


async def grid(connection: Connection, run_id: int, *, job_ids: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """One row per job and stage, jobs in the order of submission, stages in the order of the chain.

    Of all jobs of a run, or of those that are named.
    """
    return [dict(row) for row in await connection.fetch(GRID, run_id, job_ids)]
