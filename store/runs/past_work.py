"""What past runs of a kind asked and took, for estimates: medians of their jobs. Nothing of it changes a row."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from store.database import Connection
from store.runs.edits import MANUAL
from store.runs.forks import COPIED

#: The newest runs of a kind that are looked at: each of a million questions is a run.
LOOKED_AT: Final = 100

ALIKE = f"""
SELECT id FROM (
    SELECT r.id, r.settings FROM run AS r
    WHERE r.kind = $1 AND EXISTS (
        SELECT FROM job AS j WHERE j.run_id = r.id AND j.mode = ANY($2::text[]) AND j.status = 'succeeded'
    )
    ORDER BY r.id DESC LIMIT {LOOKED_AT}
) AS newest
WHERE settings @> $3 ORDER BY id DESC LIMIT $4
"""

# The first jobs of each run: one of a million says as much as soon.
_SAMPLE = """
WITH sample AS (
    SELECT r.run_id, j.id, j.mode FROM unnest($1::bigint[]) AS r (run_id) CROSS JOIN LATERAL (
        SELECT id, mode FROM job WHERE run_id = r.run_id AND status = 'succeeded' ORDER BY ordinal LIMIT 100
    ) AS j
), tried AS (
    SELECT s.run_id, s.mode, a.id, a.stage, a.started_at, a.ended_at,
           extract(epoch FROM a.ended_at - a.started_at)::float8 AS seconds
    FROM sample AS s JOIN stage_attempt AS a ON a.job_id = s.id
    WHERE a.outcome = 'succeeded' AND a.worker_id <> ALL($2::text[])
)
"""

# What the ledger answered counts as if it had been asked again. A server may count no tokens.
STAGES = f"""
{_SAMPLE}
SELECT t.mode, t.stage, percentile_cont(0.5) WITHIN GROUP (ORDER BY t.seconds + u.saved) AS seconds,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY u.calls) AS calls,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY u.prompt_tokens) AS prompt_tokens,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY u.reply_tokens) AS reply_tokens
FROM tried AS t CROSS JOIN LATERAL (
    SELECT count(*)::float8 AS calls, coalesce(sum(c.seconds) FILTER (WHERE u.is_reused), 0)::float8 AS saved,
           CASE WHEN count(*) = count(c.prompt_tokens) THEN coalesce(sum(c.prompt_tokens), 0) END::float8
               AS prompt_tokens,
           CASE WHEN count(*) = count(c.reply_tokens) THEN coalesce(sum(c.reply_tokens), 0) END::float8 AS reply_tokens
    FROM llm_call_use AS u JOIN llm_call AS c ON c.id = u.call_id WHERE u.attempt_id = t.id
) AS u
GROUP BY t.mode, t.stage
"""

AT_ONCE = f"""
{_SAMPLE}
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY r.at_once) FROM (
    SELECT greatest(sum(seconds) / nullif(extract(epoch FROM max(ended_at) - min(started_at)), 0), 1)::float8 AS at_once
    FROM tried GROUP BY run_id
) AS r
"""


class PastStage(NamedTuple):
    """The medians of a stage over jobs of past runs in one mode."""

    seconds: float
    calls: float
    prompt_tokens: float | None
    """None where no server counted them."""
    reply_tokens: float | None


async def alike_runs(
    connection: Connection, kind: str, modes: Sequence[str], settings: Mapping[str, Any], *, limit: int
) -> list[int]:
    """Those with these settings of the newest runs of a kind with jobs in one of these modes that succeeded, newest
    first."""
    wanted = json.dumps({name: {"value": value} for name, value in settings.items()})
    return [row["id"] for row in await connection.fetch(ALIKE, kind, list(modes), wanted, limit)]


async def past_stages(connection: Connection, run_ids: Sequence[int]) -> dict[tuple[str, str], PastStage]:
    """Mode and stage -> the medians over these runs."""
    rows = await connection.fetch(STAGES, list(run_ids), [MANUAL, COPIED])
    return {(row["mode"], row["stage"]): PastStage(**{name: row[name] for name in PastStage._fields}) for row in rows}


async def at_once(connection: Connection, run_ids: Sequence[int]) -> float:
    """How many stages of these runs were computed at the same time; 1 without any run."""
    found: float | None = await connection.fetchval(AT_ONCE, list(run_ids), [MANUAL, COPIED])
    return found or 1.0


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

PLACES = "SELECT coalesce(max(ordinal) + 1, 0) FROM job WHERE run_id = $1"

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
    return int(await connection.fetchval(PLACES, run_id))
