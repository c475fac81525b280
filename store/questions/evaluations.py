"""Answers as they are evaluated, and the evaluations that are stored."""

from collections.abc import Sequence

from pydantic import Field

from schemas.values.base import Value
from schemas.values.evaluations import EvaluatedAnswer, JudgedAnswer, SplitAnswer
from schemas.values.queries import Source
from stages.evaluations.labels import Judged
from store.database import Connection

ANSWER = """
SELECT r.id AS result_id, q.job_id, j.subject, r.response_text AS text, r.sources, r.prompt_hash,
       q.original_query AS question, q.reference_answer
FROM job AS j JOIN queries AS q ON q.job_id = j.id JOIN results AS r ON r.query_id = q.id
"""

NEWEST = "j.run_id = $1 AND r.id = (SELECT max(id) FROM results WHERE query_id = q.id) ORDER BY j.ordinal"

SCORED = """
SELECT concat('j', j.id) AS job, j.subject AS query, j.status, (j.inputs ->> 'result_id')::bigint AS result_id,
       (SELECT r.query_id FROM results AS r WHERE r.id = (j.inputs ->> 'result_id')::bigint) AS query_id,
       a.output AS scores
FROM job AS j
LEFT JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'consolidate' AND a.status = 'done'
WHERE j.run_id = $1 ORDER BY j.ordinal
"""

JUDGED = """
SELECT j.id AS job_id, s.output AS split, g.output AS judged
FROM job AS j
JOIN current_attempt AS s ON s.job_id = j.id AND s.stage = 'split' AND s.status = 'done'
JOIN current_attempt AS g ON g.job_id = j.id AND g.stage = 'judge' AND g.status = 'done'
WHERE j.run_id = $1 ORDER BY j.ordinal
"""

OF_RUN = "SELECT id FROM run WHERE kind = 'evaluation' AND request ->> 'evaluates' = $1::text ORDER BY id"


class StoredAnswer(Value):
    """An answer with what it is judged by."""

    result_id: int
    job_id: int
    """The job that answers the question now."""
    subject: str
    text: str = Field(repr=False)
    sources: tuple[Source, ...]
    prompt_hash: str
    question: str = Field(repr=False)
    reference_answer: str | None = Field(repr=False)


async def answers(connection: Connection, run_id: int) -> list[StoredAnswer]:
    """The newest answer of each question of a run, in the order of the run."""
    return [StoredAnswer(**row) for row in await connection.fetch(f"{ANSWER} WHERE {NEWEST}", run_id)]


async def answer(connection: Connection, result_id: int) -> StoredAnswer | None:
    """One answer; None when it is gone."""
    row = await connection.fetchrow(f"{ANSWER} WHERE r.id = $1", result_id)
    return None if row is None else StoredAnswer(**dict(row))


async def scored(connection: Connection, run_id: int) -> list[EvaluatedAnswer]:
    """The answers of a run of evaluations, in its order."""
    return [EvaluatedAnswer(**row) for row in await connection.fetch(SCORED, run_id)]


async def judged(connection: Connection, run_id: int) -> list[Judged]:
    """The judged answers of a run of evaluations, in its order."""
    return [
        (row["job_id"], SplitAnswer.model_validate(row["split"]), JudgedAnswer.model_validate(row["judged"]))
        for row in await connection.fetch(JUDGED, run_id)
    ]


async def of_run(connection: Connection, run_id: int) -> Sequence[int]:
    """The runs that evaluate the answers of a run, oldest first."""
    return [row["id"] for row in await connection.fetch(OF_RUN, str(run_id))]
