"""Where the time of a run went, stage by stage: waiting, language models, the database, and the rest."""

from schemas.values.stage_shares import StageShare
from store.database import Connection
from store.runs.forks import COPIED

# A stage waits from the end of the attempt before it in its job, or from the submission, until a worker starts it.
SHARES = f"""
WITH tried AS (
    SELECT a.id, a.stage, a.started_at, coalesce(a.ended_at, now()) AS ended_at,
           coalesce(lag(a.ended_at) OVER (PARTITION BY a.job_id ORDER BY a.id), j.created_at) AS due_at,
           a.database_s
    FROM run AS r JOIN job AS j ON j.run_id = r.id JOIN stage_attempt AS a ON a.job_id = j.id
    WHERE r.id = $1 AND a.worker_id <> '{COPIED}'
), called AS (
    SELECT t.id, sum(c.seconds) AS seconds
    FROM tried AS t JOIN llm_call_use AS u ON u.attempt_id = t.id JOIN llm_call AS c ON c.id = u.call_id
    WHERE NOT u.is_reused GROUP BY t.id
), timed AS (
    SELECT t.*, s.took_s, least(coalesce(c.seconds, 0), s.took_s) AS llm_s
    FROM tried AS t LEFT JOIN called AS c ON c.id = t.id
    CROSS JOIN LATERAL (SELECT extract(epoch FROM t.ended_at - t.started_at)::float8 AS took_s) AS s
)
SELECT t.stage,
       sum(greatest(extract(epoch FROM t.started_at - t.due_at), 0))::float8 AS waiting_s,
       sum(t.llm_s) AS llm_s,
       sum(least(t.database_s, t.took_s - t.llm_s)) FILTER (WHERE t.database_s IS NOT NULL) AS database_s,
       coalesce(sum(t.took_s - t.llm_s) FILTER (WHERE t.database_s IS NULL), 0) AS unmeasured_s,
       sum(t.took_s) AS attempt_s
FROM timed AS t
GROUP BY t.stage ORDER BY min(t.id)
"""


async def stage_shares(connection: Connection, run_id: int) -> list[StageShare]:
    """Each stage that was tried, in the order in which they were first tried."""
    return [StageShare(**dict(row)) for row in await connection.fetch(SHARES, run_id)]
