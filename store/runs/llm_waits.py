"""Stages that were given back because their server of language models takes no call now."""

from typing import NamedTuple

from store.database import Connection

OF = """
SELECT coalesce(w.refusals, 0) AS refusals, w.job_id IS NOT NULL AS has_waited,
       EXISTS (SELECT FROM run_limit WHERE run_id = $3 AND coalesce(max_llm_calls, max_tokens) IS NOT NULL)
           AS has_budget
FROM (SELECT) AS one LEFT JOIN llm_wait AS w ON w.job_id = $1 AND w.stage = $2
"""

BRING_FORWARD = """
WITH next AS (
    SELECT s.job_id, s.stage
    FROM llm_wait AS w JOIN stage_run AS s ON s.job_id = w.job_id AND s.stage = w.stage
    JOIN job AS j ON j.id = s.job_id AND j.status IN ('waiting', 'running', 'interrupted')
    WHERE w.server = $1 AND w.reason = 'calls'
      AND s.status = 'ready' AND s.not_before = w.until AND s.not_before > now()
    ORDER BY w.since LIMIT 1
    FOR UPDATE OF s SKIP LOCKED
), sooner AS (
    UPDATE stage_run AS s SET not_before = now()
    FROM next WHERE s.job_id = next.job_id AND s.stage = next.stage
    RETURNING s.job_id
)
UPDATE job SET sent_at = NULL FROM sooner WHERE job.id = sooner.job_id RETURNING pg_notify('ragq_due', job.run_id::text)
"""


class Caller(NamedTuple):
    """The stage that calls."""

    run_id: int
    job_id: int
    stage: str


class Waited(NamedTuple):
    """What is known of a stage before it calls."""

    refusals: int
    """How often its server refused it since its last answer."""
    has_waited: bool
    """It was given back before, and has a row that `forget` deletes."""
    has_budget: bool
    """Its run has a limit of calls or tokens."""


async def of(connection: Connection, caller: Caller) -> Waited:
    """What is known of a stage."""
    return Waited(*await connection.fetchrow(OF, caller.job_id, caller.stage, caller.run_id))


async def bring_forward(connection: Connection, server: str) -> None:
    """Make the stage due that has waited for longest for calls of others to end."""
    await connection.execute(BRING_FORWARD, server)


async def forget(connection: Connection, caller: Caller) -> None:
    """The stage waits no more."""
    await connection.execute("DELETE FROM llm_wait WHERE job_id = $1 AND stage = $2", caller.job_id, caller.stage)
