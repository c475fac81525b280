"""Jobs and runs, deleted with what belongs to them alone. What others use is kept."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from schemas.errors import Refused, run_missing
from schemas.statuses import StageStatus
from schemas.values.base import Value
from store import rows
from store.corpora import corpora
from store.database import Connection
from store.runs import jobs, runs
from store.runs.chain import content_hash

CALLS = """
SELECT DISTINCT u.call_id FROM llm_call_use AS u JOIN stage_attempt AS a ON a.id = u.attempt_id
WHERE a.job_id = ANY($1::bigint[])
"""

# Stages, attempts, vectors, uses of calls, the question, its judgements and its answers go with the jobs. The answers
# to a question that continued in another run stay, as published indexes do.
DELETE_JOBS = """
WITH gone AS (DELETE FROM job WHERE id = ANY($1::bigint[]) RETURNING kind)
SELECT coalesce(bool_or(kind = 'work'), false) FROM gone
"""

# A locked call cannot get a new use; a transaction that just added one is waited for, and seen by the next statement.
LOCK_CALLS = "SELECT FROM llm_call WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE"

DELETE_CALLS = """
DELETE FROM llm_call AS c
WHERE c.id = ANY($1::bigint[]) AND NOT EXISTS (SELECT FROM llm_call_use AS u WHERE u.call_id = c.id)
RETURNING c.id
"""

# Questions are locked before stages, as every change of a question does it.
HOLD_QUERIES = """
SELECT FROM queries AS q JOIN job AS j ON j.id = q.job_id WHERE j.run_id = $1 ORDER BY q.id FOR NO KEY UPDATE OF q
"""

# The jobs of a run, and those of other runs that its questions moved away from: nothing else would find them again.
# Evaluations of its answers have their text.
JOBS = """
WITH RECURSIVE gone AS (
    SELECT j.id, j.run_id, j.inputs, q.id AS query_id
    FROM job AS j LEFT JOIN queries AS q ON q.job_id = j.id WHERE j.run_id = $1
    UNION ALL
    SELECT j.id, j.run_id, j.inputs, g.query_id
    FROM gone AS g JOIN job AS j ON j.id = (g.inputs ->> 'moved_from')::bigint WHERE g.query_id IS NOT NULL
)
SELECT id, max(run_id) AS run_id FROM (
    SELECT id, run_id FROM gone
    UNION ALL
    SELECT e.id, e.run_id FROM gone AS g JOIN results AS r ON r.query_id = g.query_id
    JOIN job AS e ON e.kind = 'evaluation' AND (e.inputs ->> 'result_id')::bigint = r.id
) AS found
GROUP BY id ORDER BY id
"""

LOCK_STAGES = """
SELECT job_id, stage, status FROM stage_run WHERE job_id = ANY($1::bigint[]) ORDER BY job_id, position FOR UPDATE
"""

LOCK_OPEN_JOBS = f"""
SELECT id, run_id FROM job WHERE id = ANY($1::bigint[]) AND status IN {jobs.OPEN_JOBS} ORDER BY id FOR UPDATE
"""

# A question that continued in another run keeps the way to what was there before this run.
BRIDGE = """
UPDATE job AS later
SET inputs = (later.inputs - 'moved_from') || jsonb_strip_nulls(
    jsonb_build_object('moved_from', former.inputs -> 'moved_from')
)
FROM job AS former
WHERE former.id = ANY($1::bigint[]) AND later.kind = 'query' AND later.id <> ALL($1::bigint[])
  AND (later.inputs ->> 'moved_from')::bigint = former.id
"""


class DeletedRun(Value):
    """What a deletion removed, and what it kept for others."""

    run_id: int
    jobs: int
    calls: int
    """Language model calls that no other run used."""
    kept_calls: int


async def delete_jobs(connection: Connection, job_ids: Sequence[int]) -> tuple[int, int]:
    """Delete jobs with all that was computed, the model calls that no other job used, and files that nothing needs. How
    many calls were deleted, and how many kept."""
    call_ids = await _calls(connection, job_ids)
    if await connection.fetchval(DELETE_JOBS, job_ids):
        await corpora.drop_unused(connection)
    await connection.execute(LOCK_CALLS, call_ids)
    deleted = len(await connection.fetch(DELETE_CALLS, call_ids))
    return deleted, len(call_ids) - deleted


async def _calls(connection: Connection, job_ids: Sequence[int]) -> list[int]:
    return [row["call_id"] for row in await connection.fetch(CALLS, job_ids)]


async def leave_run(connection: Connection, run_id: int, job_id: int) -> None:
    """After a job was deleted: delete its run if that was the last job. A run that keeps others is no longer what was
    submitted: the same submission makes a new one from then on."""
    await connection.execute("DELETE FROM run WHERE id = $1 AND NOT EXISTS (SELECT FROM job WHERE run_id = $1)", run_id)
    identity = await connection.fetchval("SELECT identity FROM run WHERE id = $1 FOR UPDATE", run_id)
    if identity is not None:
        changed = content_hash({"was": identity, "without": job_id})
        await rows.update(connection, "run", {"id": run_id}, identity=changed)


async def delete_run(connection: Connection, run_id: int) -> DeletedRun:
    """Delete a run with its jobs, their questions and answers, and the model calls that no other run used. The former
    jobs of its questions, in other runs, go too. Raises MissingError, and Refused while a job is unfinished or a stage
    runs."""
    async with connection.transaction():
        if await connection.fetchval("SELECT id FROM run WHERE id = $1 FOR UPDATE", run_id) is None:
            raise run_missing(run_id)
        await connection.execute(HOLD_QUERIES, run_id)
        gone = await connection.fetch(JOBS, run_id)
        job_ids = [job["id"] for job in gone]
        await refuse_active(connection, run_id, job_ids)
        await connection.execute(BRIDGE, job_ids)
        deleted, kept = await delete_jobs(connection, job_ids)
        for job in gone:
            if job["run_id"] != run_id:
                await leave_run(connection, job["run_id"], job["id"])
        await rows.delete(connection, "run", id=run_id)
    jobs_of_run = sum(job["run_id"] == run_id for job in gone)
    return DeletedRun(run_id=run_id, jobs=jobs_of_run, calls=deleted, kept_calls=kept)


def still_active(run_id: int, why: str) -> Refused:
    """A run is not deleted while it works. `why` states what is unfinished, and what to do."""
    return Refused(f"Run r{run_id} is not deleted: {why}", slug="run-active")


async def refuse_active(connection: Connection, run_id: int, job_ids: Sequence[int]) -> None:
    """Lock jobs of a run and their stages. Raises Refused while one is unfinished, or runs."""
    stages = await connection.fetch(LOCK_STAGES, job_ids)
    unfinished = await connection.fetch(LOCK_OPEN_JOBS, job_ids)
    if unfinished:
        # Those of the run itself before others that go with it.
        active = run_id if any(job["run_id"] == run_id for job in unfinished) else unfinished[0]["run_id"]
        count = sum(job["run_id"] == active for job in unfinished)
        whose = "its jobs" if active == run_id else f"the jobs of run r{active}, which goes with it,"
        raise still_active(
            run_id,
            f"{count} of {whose} are unfinished. `ragq cancel r{active}` ends them, "
            f"`ragq watch r{active}` waits for them.",
        )
    for stage in stages:
        if stage["status"] == StageStatus.RUNNING:
            raise still_active(
                run_id,
                f"a worker still computes stage '{stage['stage']}' of job j{stage['job_id']}. "
                f"`ragq inspect j{stage['job_id']}` shows when it has ended; delete the run then.",
            )


#: By kind, the stages whose current outputs are results: what reports and pages of results read. Runs of other kinds
#: have no results of their own: what they made is an index.
RESULTS: Final = {
    "participant": ("rerank", "validate", "score"),
    "query": ("retrieve", "rerank", "validate", "consolidate", "generate"),
    "tags": ("validate",),
    "evaluation": ("consolidate",),
}

FIND = f"""
SELECT r.id FROM run AS r LEFT JOIN job AS j ON j.run_id = r.id
WHERE r.created_at < now() - $1::interval AND ($2::bigint IS NULL OR r.id = $2)
  AND (NOT $3::boolean OR r.kind = ANY($4::text[]) AND r.emptied_at IS NULL)
GROUP BY r.id
HAVING coalesce(max(coalesce(j.finished_at, j.created_at)), r.created_at) < now() - $1::interval
   AND coalesce(bool_and(j.status <> 'paused' AND j.status NOT IN {jobs.OPEN_JOBS}), true)
   AND NOT EXISTS (SELECT FROM stage_run AS s JOIN job AS w ON w.id = s.job_id
                   WHERE w.run_id = r.id AND s.status = 'running')
ORDER BY r.id
"""

# What is emptied has an output and is no result; vectors are never results.
EMPTY = """
WITH gone AS (
    SELECT a.id FROM stage_attempt AS a LEFT JOIN stage_run AS s ON s.job_id = a.job_id AND s.stage = a.stage
    WHERE a.job_id = ANY($1::bigint[]) AND a.output_hash IS NOT NULL AND (
        a.output IS NULL OR a.stage <> ALL($2::text[]) OR s.attempts IS DISTINCT FROM a.number
        OR EXISTS (SELECT FROM stage_vector AS v WHERE v.attempt_id = a.id)
    )
), vectors AS (
    DELETE FROM stage_vector AS v USING gone WHERE v.attempt_id = gone.id
), details AS (
    UPDATE stage_attempt SET error_details = NULL
    WHERE job_id = ANY($1) AND error_details IS NOT NULL AND output_hash IS NULL
)
UPDATE stage_attempt AS a SET output = NULL FROM gone WHERE a.id = gone.id
"""

# A retry would look for outputs that are gone: it begins with the first stage.
REWIND = """
UPDATE stage_run AS s SET status = CASE WHEN s.position = 0 THEN 'failed' ELSE 'waiting' END, finished_at = NULL
FROM job AS j WHERE j.id = s.job_id AND j.id = ANY($1::bigint[]) AND j.status IN ('failed', 'poisoned')
"""

# Calls that are locked: a use that another run just added is seen. Their counts and times stay, and no key finds them.
EMPTY_CALLS = """
UPDATE llm_call AS c
SET key = 'purged:' || c.id, request = '{}', reply = '', tokens = NULL
WHERE c.id = ANY($1::bigint[]) AND NOT EXISTS (
    SELECT FROM llm_call_use AS u JOIN stage_attempt AS a ON a.id = u.attempt_id JOIN job AS j ON j.id = a.job_id
    WHERE u.call_id = c.id AND j.run_id <> $2
)
RETURNING c.id
"""


async def find(
    connection: Connection, *, older_than: timedelta, run_id: int | None = None, keep_results: bool = False
) -> list[int]:
    """The runs that finished longer ago, oldest first, nothing of which is open or paused; or one of them. Raises
    MissingError, and Refused for a run that is named and would be left."""
    found = await connection.fetch(FIND, older_than, run_id, keep_results, list(RESULTS))
    if run_id is not None and not found:
        await runs.require(connection, run_id)
        await refuse_active(connection, run_id, await jobs.of_run(connection, run_id))
        raise Refused(
            f"Run r{run_id} is none of those that these options name: it is paused, younger, without results, or what "
            f"led to its results is gone. `ragq show r{run_id}` shows it."
        )
    return [row["id"] for row in found]


async def empty(connection: Connection, run_id: int) -> DeletedRun:
    """Delete what led to the results of a run. Raises Refused when a job of it became active meanwhile."""
    async with connection.transaction():
        job_ids = await jobs.of_run(connection, run_id)
        await refuse_active(connection, run_id, job_ids)
        kind = await connection.fetchval("UPDATE run SET emptied_at = now() WHERE id = $1 RETURNING kind", run_id)
        await connection.execute(EMPTY, job_ids, list(RESULTS[kind]))
        await connection.execute(REWIND, job_ids)
        call_ids = await _calls(connection, job_ids)
        await connection.execute(LOCK_CALLS, call_ids)
        calls = len(await connection.fetch(EMPTY_CALLS, call_ids, run_id))
    return DeletedRun(run_id=run_id, jobs=len(job_ids), calls=calls, kept_calls=len(call_ids) - calls)
