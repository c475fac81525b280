"""Questions and answers, deleted: a question with every text that was stored for it."""

from schemas.errors import QueryMissingError
from store.database import Connection
from store.questions import query_jobs
from store.questions.queries import StoredQuery, result_missing
from store.runs import deletions, edits

EVALUATIONS = """
SELECT e.id, e.run_id FROM results AS r
JOIN job AS e ON e.kind = 'evaluation' AND (e.inputs ->> 'result_id')::bigint = r.id
WHERE r.query_id = $2 AND ($3::bigint IS NULL OR r.id = $3)
"""

JOBS = f"""
{query_jobs.ANSWERING}
SELECT id, run_id FROM answering WHERE $3::bigint IS NULL UNION ALL {EVALUATIONS} ORDER BY id
"""

DELETE_RESULT = "DELETE FROM results WHERE id = $1 AND query_id = $2 RETURNING id"


async def delete_query(connection: Connection, query: StoredQuery) -> None:
    """Delete a question: its answers, their evaluations, its judgements, its jobs with all that was computed,
    and the model calls that no other job used. A run goes with its last job.

    A run that keeps other questions is no longer what was submitted: the same submission makes a new one from then on.
    Raises QueryMissingError, and StageRunningError while a stage of it runs.
    """
    async with connection.transaction():
        held = await query_jobs.hold(connection, query.id)
        if held is None:
            raise QueryMissingError(query.id)
        await _delete_jobs(connection, held, None)


async def delete_result(connection: Connection, query: StoredQuery, result_id: int) -> None:
    """Delete one answer of a question with its evaluations. The attempt that made it stays in the history of its job,
    as audits need it.

    Raises Refused without such an answer, and StageRunningError while a stage of an evaluation of it runs.
    """
    async with connection.transaction():
        await _delete_jobs(connection, query, result_id)
        if await connection.fetchval(DELETE_RESULT, result_id, query.id) is None:
            raise result_missing(query.id, result_id)


async def _delete_jobs(connection: Connection, query: StoredQuery, result_id: int | None) -> None:
    """The jobs of a question with the evaluations of its answers; with an answer, the evaluations of that alone."""
    jobs = await connection.fetch(JOBS, query.job_id, query.id, result_id)
    for job in jobs:
        await edits.stage_states(connection, job["id"])
    await deletions.delete_jobs(connection, [job["id"] for job in jobs])
    for job in jobs:
        await deletions.leave_run(connection, job["run_id"], job["id"])
