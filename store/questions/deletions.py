"""Questions and answers, deleted: a question with every text that was stored for it."""

from schemas.errors import QueryMissingError, ResultMissingError
from store.database import Connection
from store.questions import query_jobs
from store.questions.queries import StoredQuery
from store.runs import edits
from store.runs.chain import content_hash

JOBS = f"{query_jobs.ANSWERING} SELECT id, run_id FROM answering ORDER BY id"

CALLS = """
SELECT DISTINCT u.call_id FROM llm_call_use AS u JOIN stage_attempt AS a ON a.id = u.attempt_id
WHERE a.job_id = ANY($1::bigint[])
"""

# Stages, attempts, vectors, uses of calls, the question, its judgements and its answers go with the jobs.
DELETE_JOBS = "DELETE FROM job WHERE id = ANY($1::bigint[])"

# A locked call cannot get a new use; a transaction that just added one is waited for, and seen by the next statement.
LOCK_CALLS = "SELECT FROM llm_call WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE"

DELETE_CALLS = """
DELETE FROM llm_call AS c
WHERE c.id = ANY($1::bigint[]) AND NOT EXISTS (SELECT FROM llm_call_use AS u WHERE u.call_id = c.id)
"""

DELETE_EMPTY_RUN = "DELETE FROM run WHERE id = $1 AND NOT EXISTS (SELECT FROM job WHERE run_id = $1)"

IDENTITY = "SELECT identity FROM run WHERE id = $1 FOR UPDATE"

REIDENTIFY = "UPDATE run SET identity = $2 WHERE id = $1"

DELETE_RESULT = "DELETE FROM results WHERE id = $1 AND query_id = $2 RETURNING id"


async def delete_query(connection: Connection, query: StoredQuery) -> None:
    """Delete a question: its answers, its judgements, its jobs with all that was computed, and the model calls that
    no other job used. A run goes with its last job.

    A run that keeps other questions is no longer what was submitted: the same submission makes a new one from then on.
    Raises QueryMissingError, and StageRunningError while a stage of it runs.
    """
    async with connection.transaction():
        held = await query_jobs.hold(connection, query.id)
        if held is None:
            raise QueryMissingError(query.id)
        jobs = await connection.fetch(JOBS, held.job_id)
        for job in jobs:
            await edits.stage_states(connection, job["id"])
        job_ids = [job["id"] for job in jobs]
        call_ids = [row["call_id"] for row in await connection.fetch(CALLS, job_ids)]
        await connection.execute(DELETE_JOBS, job_ids)
        await connection.execute(LOCK_CALLS, call_ids)
        await connection.execute(DELETE_CALLS, call_ids)
        for job in jobs:
            await _leave(connection, job["run_id"], job["id"])


async def delete_result(connection: Connection, query: StoredQuery, result_id: int) -> None:
    """Delete one answer of a question. The attempt that made it stays in the history of its job, as audits need it.

    Raises ResultMissingError.
    """
    if await connection.fetchval(DELETE_RESULT, result_id, query.id) is None:
        raise ResultMissingError(query.id, result_id)


async def _leave(connection: Connection, run_id: int, job_id: int) -> None:
    await connection.execute(DELETE_EMPTY_RUN, run_id)
    identity = await connection.fetchval(IDENTITY, run_id)
    if identity is not None:
        await connection.execute(REIDENTIFY, run_id, content_hash({"was": identity, "without": job_id}))
