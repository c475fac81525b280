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

# One pass over the stages: a run may have hundreds of thousands.
PROGRESS = """
SELECT p.stages, p.done, p.left_over,
       extract(epoch FROM now() - greatest(p.since, now() - $2 * interval '1 second'))::float8
           / nullif(p.lately, 0) AS pace
FROM (
    SELECT count(*) AS stages, count(*) FILTER (WHERE s.status = 'done') AS done,
           count(*) FILTER (WHERE j.status IN ('waiting', 'running', 'interrupted') AND s.status <> 'done')
               AS left_over,
           count(*) FILTER (WHERE s.status = 'done' AND s.finished_at > now() - $2 * interval '1 second') AS lately,
           min(s.started_at) FILTER (WHERE s.status = 'done' AND s.finished_at > now() - $2 * interval '1 second')
               AS since
    FROM stage_run AS s JOIN job AS j ON j.id = s.job_id
    WHERE j.run_id = $1
) AS p
"""

#: The pace of a run is that of its last minutes: a night's pause does not count.
_PACE_WITHIN_S = 600.0


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
    """What its open jobs still need at the pace of the last ten minutes; None before any stage, and when idle."""


async def stage_times(connection: Connection, run_id: int) -> list[StageTimes]:
    """Each stage that was tried, in the order in which they were first tried."""
    return [StageTimes(**dict(row)) for row in await connection.fetch(TIMES, run_id)]


async def progress(connection: Connection, run_id: int) -> Progress:
    """Stored stages of all stages, and an estimate."""
    row = await connection.fetchrow(PROGRESS, run_id, _PACE_WITHIN_S)
    is_open = row["left_over"] and row["pace"] is not None
    return Progress(row["done"], row["stages"], row["left_over"] * row["pace"] if is_open else None)
