"""Failures of several runs, grouped by what went wrong."""

from collections.abc import Mapping, Sequence
from typing import Any

from schemas.values.failures import FailureCluster, FailurePlace
from store.database import Connection

# Numbers and hashes in a message differ from job to job: without them messages of one cause are equal.
_FAILED = """
WITH failed AS (
    SELECT a.id, a.job_id, j.run_id, a.stage, a.number, coalesce(a.error_type, '') AS type,
           coalesce(a.error_category, '') AS category, a.ended_at,
           left(regexp_replace(coalesce(a.error_message, ''), '[0-9a-f]{12,64}|[0-9]+', '#', 'g'), 300) AS cause,
           coalesce(s.status = 'done', false) AS is_resolved,
           coalesce(s.status = 'failed' AND s.attempts = a.number AND j.status IN ('failed', 'poisoned'), false)
               AS is_final
    FROM job AS j
    JOIN stage_attempt AS a ON a.job_id = j.id AND a.outcome IN ('failed', 'interrupted')
    LEFT JOIN stage_run AS s ON s.job_id = a.job_id AND s.stage = a.stage
    WHERE j.run_id = ANY($1::bigint[]) AND ($2::text IS NULL OR a.stage = $2)
      AND ($3::text IS NULL OR a.error_type = $3 OR a.error_type LIKE '%.' || $3)
)
"""

CLUSTERS = f"""{_FAILED}
SELECT type, stage, category, cause, count(*) AS failures, count(DISTINCT job_id) AS jobs,
       count(DISTINCT job_id) FILTER (WHERE is_final) AS failed_jobs,
       (SELECT array_agg(DISTINCT r ORDER BY r) FROM unnest(array_agg(run_id)) AS r) AS run_ids,
       min(ended_at) AS first_at, max(ended_at) AS last_at, (array_agg(job_id ORDER BY id DESC))[1] AS last_job_id
FROM failed GROUP BY type, stage, category, cause
ORDER BY count(DISTINCT job_id) FILTER (WHERE is_final) DESC, count(*) DESC, type, stage, cause
"""

PLACES = f"""{_FAILED}
SELECT id AS attempt_id, run_id, job_id, stage, number AS attempt, is_resolved FROM failed
WHERE $4::text IS NULL OR cause = $4 ORDER BY is_final DESC, id DESC LIMIT $5
"""

FINAL = f"""{_FAILED}
SELECT DISTINCT job_id FROM failed WHERE is_final ORDER BY job_id
"""

NEWEST = "SELECT id FROM run ORDER BY id DESC LIMIT $1"


async def newest_runs(connection: Connection, limit: int) -> list[int]:
    """The numbers of the newest runs."""
    return [row["id"] for row in await connection.fetch(NEWEST, limit)]


async def clusters(
    connection: Connection, run_ids: Sequence[int], *, stage: str | None = None, error_type: str | None = None
) -> list[FailureCluster]:
    """The failures of these runs by type, stage and cause: those that ended most jobs first.

    `error_type` is the class of an exception, with or without its module.
    """
    rows = await connection.fetch(CLUSTERS, list(run_ids), stage, error_type)
    return [_cluster(row) for row in rows]


async def places(
    connection: Connection,
    run_ids: Sequence[int],
    *,
    stage: str | None = None,
    error_type: str | None = None,
    cause: str | None = None,
    limit: int,
) -> list[FailurePlace]:
    """Where such failures happened: those that ended a job first, then the newest."""
    rows = await connection.fetch(PLACES, list(run_ids), stage, error_type, cause, limit)
    return [FailurePlace(**dict(row)) for row in rows]


async def failed_jobs(
    connection: Connection, run_id: int, *, stage: str | None = None, error_type: str | None = None
) -> list[int]:
    """The jobs of a run that ended with such a failure."""
    return [row["job_id"] for row in await connection.fetch(FINAL, [run_id], stage, error_type)]


def _cluster(row: Mapping[str, Any]) -> FailureCluster:
    values = dict(row)
    runs, last_job_id = values.pop("run_ids"), values.pop("last_job_id")
    return FailureCluster(**values, runs=tuple(f"r{run_id}" for run_id in runs), last_job=f"j{last_job_id}")
