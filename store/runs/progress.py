"""How far a run is, and when it will be done."""

from typing import NamedTuple

from store.database import Connection

# One pass over the stages: a run may have hundreds of thousands. The seconds of a stage include waiting for a server
# that other stages use, so what is left is divided by the number of stages that ran at the same time on average.
PROGRESS = """
WITH s AS (
    SELECT s.stage, s.status, s.started_at, s.finished_at, j.id AS job_id,
           j.status IN ('waiting', 'running', 'interrupted') AND s.status <> 'done' AS is_left
    FROM stage_run AS s JOIN job AS j ON j.id = s.job_id
    WHERE j.run_id = $1
), lately AS (
    SELECT stage, started_at, finished_at, extract(epoch FROM finished_at - started_at)::float8 AS seconds
    FROM s WHERE status = 'done' AND finished_at > now() - $2 * interval '1 second' AND started_at <= finished_at
), mean AS (
    SELECT stage, avg(seconds) AS seconds FROM lately GROUP BY stage
), left_over AS (
    SELECT s.job_id, m.seconds AS mean,
           greatest(m.seconds / 4, m.seconds - CASE WHEN s.status = 'running'
                    THEN extract(epoch FROM now() - s.started_at)::float8 ELSE 0 END) AS seconds
    FROM s LEFT JOIN mean AS m ON m.stage = s.stage
    WHERE s.is_left
), busy AS (
    SELECT sum(extract(epoch FROM upper(part) - lower(part)))::float8 AS seconds
    FROM (SELECT unnest(range_agg(tstzrange(started_at, finished_at, '[]'))) AS part FROM lately) AS parts
)
SELECT (SELECT count(*) FROM s) AS stages, (SELECT count(*) FROM s WHERE status = 'done') AS done,
       sum(seconds) AS seconds, count(DISTINCT job_id) AS jobs, coalesce(bool_and(mean IS NOT NULL), false) AS is_known,
       (SELECT sum(seconds) FROM lately) / nullif((SELECT seconds FROM busy), 0) AS parallel
FROM left_over
"""

# Of a large run the index of jobs by state is read, and no stage but those of its first jobs.
LARGE_PROGRESS = """
WITH j AS (
    SELECT count(*) AS jobs, count(*) FILTER (WHERE status = 'succeeded') AS succeeded,
           count(*) FILTER (WHERE status IN ('waiting', 'running', 'interrupted')) AS open_jobs,
           count(*) FILTER (WHERE is_late) AS lately, min(finished_at) FILTER (WHERE is_late) AS since
    FROM (
        SELECT status, finished_at,
               status = 'succeeded' AND finished_at > now() - $2 * interval '1 second' AS is_late
        FROM job WHERE run_id = $1
    ) AS found
), s AS (
    SELECT count(*)::float8 / nullif(count(DISTINCT job_id), 0) AS each
    FROM stage_run WHERE job_id IN (SELECT id FROM job WHERE run_id = $1 ORDER BY ordinal LIMIT 100)
)
SELECT round(jobs * each)::bigint AS stages, round(succeeded * each)::bigint AS done,
       CASE WHEN open_jobs > 0 AND lately > 1
            THEN open_jobs * extract(epoch FROM now() - since)::float8 / lately END AS seconds_left
FROM j, s
"""

#: Estimates come from what finished in this time.
_LATELY_S = 3600.0
_LATELY_OF_LARGE_S = 600.0
_LARGE_JOBS = 10_000


class Progress(NamedTuple):
    """The progress of a run."""

    done: int
    stages: int
    seconds_left: float | None
    """What its open jobs still need, by the mean time of each stage in the last hour.

    None when idle, and while a stage is left of which none has finished.
    """


async def progress(connection: Connection, run_id: int) -> Progress:
    """Stored stages of all stages, and an estimate.

    Of a run of more than 10,000 jobs, the stages of jobs that have succeeded count, and jobs are estimated by the pace
    of the last ten minutes.
    """
    if await _places(connection, run_id) > _LARGE_JOBS:
        found = await connection.fetchrow(LARGE_PROGRESS, run_id, _LATELY_OF_LARGE_S)
        return Progress(found["done"], found["stages"], found["seconds_left"])
    row = await connection.fetchrow(PROGRESS, run_id, _LATELY_S)
    seconds_left = None
    if row["is_known"]:
        seconds_left = row["seconds"] / min(max(row["parallel"] or 1.0, 1.0), row["jobs"])
    return Progress(row["done"], row["stages"], seconds_left)


async def _places(connection: Connection, run_id: int) -> int:
    """How many jobs a run was submitted with."""
    return int(await connection.fetchval("SELECT coalesce(max(ordinal) + 1, 0) FROM job WHERE run_id = $1", run_id))
