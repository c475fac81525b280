"""How long the stages of a run take, and its progress."""

from dataclasses import dataclass
from typing import NamedTuple

from store.database import Connection

TIMES = """
SELECT a.stage, count(*) AS attempts, count(*) FILTER (WHERE a.outcome <> 'succeeded') AS unsuccessful,
       sum(a.seconds) AS total, percentile_cont(0.5) WITHIN GROUP (ORDER BY a.seconds) AS median,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY a.seconds) AS p95, max(a.seconds) AS longest
FROM (
    SELECT t.id, t.stage, t.outcome, extract(epoch FROM t.ended_at - t.started_at)::float8 AS seconds
    FROM stage_attempt AS t JOIN job AS j ON j.id = t.job_id
    WHERE j.run_id = $1 AND t.ended_at IS NOT NULL
) AS a
GROUP BY a.stage ORDER BY min(a.id)
"""

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

#: Estimates come from what finished in this time.
_LATELY_S = 3600.0


@dataclass(frozen=True, kw_only=True)
class StageTimes:
    """The closed attempts of one stage, in seconds."""

    stage: str
    attempts: int
    unsuccessful: int
    """Those that failed or were interrupted."""
    total: float
    median: float
    p95: float
    longest: float


class Progress(NamedTuple):
    """The progress of a run."""

    done: int
    stages: int
    seconds_left: float | None
    """What its open jobs still need, by the mean time of each stage in the last hour.

    None when idle, and while a stage is left of which none has finished.
    """


async def stage_times(connection: Connection, run_id: int) -> list[StageTimes]:
    """Each stage that was tried, in the order in which they were first tried."""
    return [StageTimes(**dict(row)) for row in await connection.fetch(TIMES, run_id)]


async def progress(connection: Connection, run_id: int) -> Progress:
    """Stored stages of all stages, and an estimate."""
    row = await connection.fetchrow(PROGRESS, run_id, _LATELY_S)
    seconds_left = None
    if row["is_known"]:
        seconds_left = row["seconds"] / min(max(row["parallel"] or 1.0, 1.0), row["jobs"])
    return Progress(row["done"], row["stages"], seconds_left)
