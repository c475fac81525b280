"""What the calls of a run cost, and what its retries did not compute again."""

from schemas.values.costs import KeptStage, StageCalls, StageWork
from store.database import Connection
from store.runs.forks import COPIED

CALLS = """
SELECT CASE WHEN $2 THEN a.job_id END AS job_id, a.stage, c.model,
       count(*) FILTER (WHERE NOT u.is_reused) AS paid,
       count(*) FILTER (WHERE u.is_reused) AS reused,
       count(*) FILTER (WHERE NOT u.is_reused AND (c.prompt_tokens IS NULL OR c.reply_tokens IS NULL)) AS uncounted,
       coalesce(sum(c.prompt_tokens) FILTER (WHERE NOT u.is_reused), 0) AS prompt_tokens,
       coalesce(sum(c.reply_tokens) FILTER (WHERE NOT u.is_reused), 0) AS reply_tokens,
       coalesce(sum(c.seconds) FILTER (WHERE NOT u.is_reused), 0)::float8 AS seconds,
       coalesce(sum(c.prompt_tokens) FILTER (WHERE u.is_reused), 0) AS saved_prompt_tokens,
       coalesce(sum(c.reply_tokens) FILTER (WHERE u.is_reused), 0) AS saved_reply_tokens,
       coalesce(sum(c.seconds) FILTER (WHERE u.is_reused), 0)::float8 AS saved_seconds
FROM job AS j
JOIN stage_attempt AS a ON a.job_id = j.id
JOIN llm_call_use AS u ON u.attempt_id = a.id
JOIN llm_call AS c ON c.id = u.call_id
WHERE j.run_id = $1
GROUP BY 1, a.stage, c.model
ORDER BY 1, min(a.id), c.model
"""

# An attempt after one of the same stage that failed or was lost begins there; without stored rows the job would begin
# with its first stage. So each such attempt kept the newest outputs of the stages before it.
RETRIED = """
SELECT kept.job_id, kept.stage, kept.seconds
FROM job AS j
JOIN stage_attempt AS failed ON failed.job_id = j.id AND failed.outcome IN ('failed', 'interrupted')
JOIN stage_attempt AS again
  ON again.job_id = failed.job_id AND again.stage = failed.stage AND again.number = failed.number + 1
JOIN stage_run AS place ON place.job_id = failed.job_id AND place.stage = failed.stage
JOIN LATERAL (
    SELECT DISTINCT ON (a.stage) a.job_id, a.stage,
           extract(epoch FROM a.ended_at - a.started_at)::float8 AS seconds
    FROM stage_attempt AS a
    JOIN stage_run AS s ON s.job_id = a.job_id AND s.stage = a.stage AND s.position < place.position
    WHERE a.job_id = failed.job_id AND a.outcome = 'succeeded' AND a.id < again.id
    ORDER BY a.stage, a.id DESC
) AS kept ON true
WHERE j.run_id = $1
ORDER BY kept.job_id, again.id
"""


WORK = f"""
SELECT CASE WHEN $2 THEN a.job_id END AS job_id, a.stage, count(*) AS attempts,
       coalesce(sum(extract(epoch FROM a.ended_at - a.started_at)), 0)::float8 AS seconds
FROM job AS j JOIN stage_attempt AS a ON a.job_id = j.id
WHERE j.run_id = $1 AND a.worker_id <> '{COPIED}'
GROUP BY 1, a.stage ORDER BY 1, min(a.id)
"""

OF_FORK = f"""
SELECT a.job_id, a.stage, extract(epoch FROM a.ended_at - a.started_at)::float8 AS seconds
FROM job AS j JOIN stage_attempt AS a ON a.job_id = j.id
WHERE j.run_id = $1 AND a.worker_id = '{COPIED}' ORDER BY a.id
"""


async def stage_work(connection: Connection, run_id: int, *, by_job: bool) -> tuple[StageWork, ...]:
    """The attempts of each stage, of each job or of the whole run."""
    return tuple(StageWork(**dict(row)) for row in await connection.fetch(WORK, run_id, by_job))


async def stage_calls(connection: Connection, run_id: int, *, by_job: bool = True) -> tuple[StageCalls, ...]:
    """The calls of each stage to each model over all attempts, of each job or of the whole run."""
    return tuple(StageCalls(**dict(row)) for row in await connection.fetch(CALLS, run_id, by_job))


async def retried_stages(connection: Connection, run_id: int) -> tuple[KeptStage, ...]:
    """Every stored stage that an attempt after a failure kept, once for each such attempt."""
    return tuple(KeptStage(**dict(row)) for row in await connection.fetch(RETRIED, run_id))


async def copied_stages(connection: Connection, run_id: int) -> tuple[KeptStage, ...]:
    """Every stage whose output a fork copied, with the seconds of the attempt that computed it."""
    return tuple(KeptStage(**dict(row)) for row in await connection.fetch(OF_FORK, run_id))
