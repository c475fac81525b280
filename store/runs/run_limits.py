"""The limits of runs: stored with the run or when it is resumed, and counted while it works.

A call is counted before it is sent, in the statement that checks the limit, so that a run never sends more calls than
its limit. Tokens are known after a call: a run uses at most its limit and the tokens of the calls then in progress.
"""

from typing import TYPE_CHECKING

from schemas.statuses import JobStatus
from schemas.values.runs import FinishedJobs, RunLimitState, is_failing
from store.database import Connection
from store.runs import job_control

if TYPE_CHECKING:
    from schemas.values.runs import RunLimits

KEEP = """
INSERT INTO run_limit AS l (run_id, max_failures, max_llm_calls, max_tokens, llm_calls, tokens)
SELECT $1::bigint, $2::text, $3::bigint, $4::bigint, count(u.call_id),
       coalesce(sum(coalesce(c.prompt_tokens, 0) + coalesce(c.reply_tokens, 0)), 0)
FROM (SELECT) AS one
LEFT JOIN job AS j ON j.run_id = $1
LEFT JOIN stage_attempt AS a ON a.job_id = j.id
LEFT JOIN llm_call_use AS u ON u.attempt_id = a.id AND NOT u.is_reused
LEFT JOIN llm_call AS c ON c.id = u.call_id
ON CONFLICT (run_id) DO UPDATE
SET max_failures = coalesce($2, l.max_failures), max_llm_calls = coalesce($3, l.max_llm_calls),
    max_tokens = coalesce($4, l.max_tokens)
"""

FIND = "SELECT max_failures, max_llm_calls, max_tokens, llm_calls, tokens FROM run_limit WHERE run_id = $1"

SPEND = """
UPDATE run_limit SET llm_calls = llm_calls + 1
WHERE run_id = $1 AND (max_llm_calls IS NULL OR llm_calls < max_llm_calls)
  AND (max_tokens IS NULL OR tokens < max_tokens)
RETURNING true
"""

COUNT = "UPDATE run_limit SET llm_calls = llm_calls + $2, tokens = tokens + $3 WHERE run_id = $1"

_RUN = "coalesce($1::bigint, (SELECT run_id FROM job WHERE id = $2::bigint))"

_FINISHED = f"""
SELECT count(*) AS jobs, count(*) FILTER (WHERE status IN ('succeeded', 'failed', 'poisoned')) AS finished,
       count(*) FILTER (WHERE status IN ('failed', 'poisoned')) AS failed
FROM job WHERE run_id = {_RUN}
"""

FAILURES = f"""
SELECT l.run_id, l.max_failures, c.jobs, greatest(c.finished - l.finished_before, 0) AS finished,
       greatest(c.failed - l.failed_before, 0) AS failed
FROM run_limit AS l, LATERAL ({_FINISHED}) AS c
WHERE l.run_id = {_RUN} AND l.max_failures IS NOT NULL
"""

FORGIVE = f"""
UPDATE run_limit SET failed_before = c.failed, finished_before = c.finished
FROM ({_FINISHED}) AS c
WHERE run_id = {_RUN}
"""


async def keep(connection: Connection, run_id: int, limits: "RunLimits") -> None:
    """Store the limits that are given; others of the run stay. What it paid for before counts."""
    if limits.given:
        await connection.execute(KEEP, run_id, limits.max_failures, limits.max_llm_calls, limits.max_tokens)


async def find(connection: Connection, run_id: int) -> RunLimitState | None:
    """The limits of a run; None without any."""
    row = await connection.fetchrow(FIND, run_id)
    return None if row is None else RunLimitState(**dict(row))


async def spend_call(connection: Connection, run_id: int) -> bool:
    """Count a call that is about to be sent. False when the run has used its calls or tokens: then nothing is sent."""
    return await connection.fetchval(SPEND, run_id) is not None


async def count(connection: Connection, run_id: int, *, llm_calls: int = 0, tokens: int = 0) -> None:
    """Count what a call used, or with -1 that it was not made."""
    await connection.execute(COUNT, run_id, llm_calls, tokens)


async def stop_failing(connection: Connection, *, run_id: int | None = None, job_id: int | None = None) -> list[int]:
    """Pause the unfinished jobs of a run, or of the run of a job, that has reached its limit of failures.

    Returns those jobs.
    """
    row = await connection.fetchrow(FAILURES, run_id, job_id)
    if row is None:
        return []
    values = dict(row)
    run_id, limit, counts = values.pop("run_id"), values.pop("max_failures"), FinishedJobs(**values)
    if not is_failing(limit, counts):
        return []
    note = (
        f"{counts.failed} of {counts.finished} finished jobs failed, and the limit is {limit}. "
        f"`ragq failures r{run_id}` lists them; `ragq resume r{run_id}` continues and counts anew."
    )
    return await job_control.hold(connection, JobStatus.PAUSED, note, run_id=run_id)


async def forgive_failures(connection: Connection, *, run_id: int | None = None, job_id: int | None = None) -> None:
    """Count failures of a run, or of the run of a job, from now on."""
    await connection.execute(FORGIVE, run_id, job_id)
