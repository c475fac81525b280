"""The answer to a question while a model writes it, in pieces.

Whoever waits for them is notified by the id of the job, never by the text. The stored answer is the truth: pieces are
no part of any history, and a trigger deletes them when their attempt ends.
"""

from dataclasses import dataclass, field
from typing import Final

from schemas.statuses import JobStatus, StageStatus
from store.database import Connection

CHANNEL: Final = "ragq_answers"

# The lock holds the attempt open until the piece is stored, so that its end deletes this one too.
ADD = f"""
WITH written AS (
    SELECT id, job_id FROM stage_attempt WHERE id = $1 AND outcome = 'running' FOR SHARE
), added AS (
    INSERT INTO answer_piece (attempt_id, ordinal, text) SELECT id, $2, $3 FROM written ON CONFLICT DO NOTHING
)
SELECT pg_notify('{CHANNEL}', job_id::text) FROM written
WHERE EXISTS (SELECT FROM change_listener WHERE listened_at > now() - interval '30 seconds')
"""

# After a crash of the database the first pieces may be gone: what lacks its beginning is left out.
READ = """
SELECT j.id AS job_id, j.status AS job_status, s.status AS stage_status, a.id AS attempt_id, a.number AS attempt,
       p.last, CASE WHEN p.first = sent.pieces + 1 THEN p.text END AS text,
       CASE WHEN s.status = 'done' THEN (
           SELECT max(r.id) FROM results AS r WHERE r.query_id = q.id AND r.attempt_id = a.id
       ) END AS result_id
FROM queries AS q
JOIN job AS j ON j.id = q.job_id
LEFT JOIN stage_run AS s ON s.job_id = j.id AND s.stage = 'generate'
LEFT JOIN stage_attempt AS a ON a.job_id = s.job_id AND a.stage = s.stage AND a.number = s.attempts
CROSS JOIN LATERAL (SELECT CASE WHEN a.id = $2 THEN $3 ELSE 0 END AS pieces) AS sent
LEFT JOIN LATERAL (
    SELECT min(ordinal) AS first, max(ordinal) AS last, string_agg(text, '' ORDER BY ordinal) AS text
    FROM answer_piece WHERE attempt_id = a.id AND ordinal > sent.pieces
) AS p ON true
WHERE q.id = $1
"""


@dataclass(frozen=True, kw_only=True)
class AnswerSoFar:
    """The state of a question's newest answer."""

    job_id: int
    job_status: JobStatus
    stage_status: StageStatus | None
    """Of stage `generate`; None for a chain that ends before it."""
    attempt_id: int | None
    attempt: int | None
    """The number of the last attempt of the stage, from 1."""
    last: int | None
    """The last piece of `text`."""
    text: str | None = field(repr=False)
    """What was written after the pieces that were read before; None where nothing was."""
    result_id: int | None
    """The answer that the attempt stored."""

    @property
    def is_written(self) -> bool:
        """A worker is at it now."""
        return self.stage_status == StageStatus.RUNNING

    @property
    def is_awaited(self) -> bool:
        """It is being written, or the chain continues without a user action."""
        return self.is_written or JobStatus(self.job_status).is_open


async def add(connection: Connection, attempt_id: int, ordinal: int, text: str) -> None:
    """Store a piece of an attempt that runs, once; nothing happens when it has ended."""
    await connection.execute(ADD, attempt_id, ordinal, text)


async def read(connection: Connection, query_id: int, attempt_id: int = 0, pieces: int = 0) -> AnswerSoFar | None:
    """The answer as far as it is written, after so many pieces of an attempt; from its beginning where another attempt
    writes it. None for an unknown question."""
    row = await connection.fetchrow(READ, query_id, attempt_id, pieces)
    return None if row is None else AnswerSoFar(**dict(row))
