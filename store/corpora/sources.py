"""Where the works of a corpus come from, and works that are removed."""

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import Field

from schemas.values.base import Value
from store.corpora.searchable import withdraw
from store.database import Connection
from store.locks import Lock, hold

HOLD = "SELECT id, title, source_path FROM works WHERE id = $1 AND corpus_id = $2 FOR UPDATE"


class WorkSource(Value):
    """A work and the file that it came from."""

    id: int = Field(examples=[9])
    title: str = Field(examples=["Bridges"])
    source_path: str | None = Field(examples=["bridges.md"])
    """Null for a work that was imported without a file."""


async def remove(connection: Connection, corpus_id: int, work_id: int) -> WorkSource | None:
    """Delete a work with its chunks, vectors and postings. None when the corpus has no such work.

    The file that it was converted from stays until `originals.drop_unused`.
    """
    async with connection.transaction():
        await hold(connection, Lock.WORKS, corpus_id)
        found = await connection.fetchrow(HOLD, work_id, corpus_id)
        if found is None:
            return None
        await withdraw(connection, work_id)
        await connection.execute("DELETE FROM works WHERE id = $1", work_id, timeout=600)
    return WorkSource(**found)


# Several jobs can have made a work of one file: that which cut it last made what is stored.
OF_WORKS = """
SELECT DISTINCT ON (w.id) w.id AS work_id, j.id AS job_id
FROM works AS w
JOIN job AS j ON j.kind = 'work' AND j.inputs ->> 'original' = w.original_hash
             AND (j.inputs ->> 'corpus_id')::bigint = w.corpus_id AND j.inputs ->> 'source_path' = w.source_path
LEFT JOIN LATERAL (
    SELECT max(a.id) AS id FROM stage_attempt AS a
    WHERE a.job_id = j.id AND a.stage = 'cut' AND a.outcome = 'succeeded'
) AS cut ON true
WHERE w.id = ANY($1::bigint[]) ORDER BY w.id, cut.id DESC NULLS LAST, j.id DESC
"""

WORK = """
SELECT w.id, w.title, w.original_hash FROM works AS w JOIN job AS j
  ON (j.inputs ->> 'corpus_id')::bigint = w.corpus_id AND j.inputs ->> 'source_path' = w.source_path
WHERE j.id = $1 AND j.kind = 'work' ORDER BY w.id LIMIT 1
"""

# Of the documents that jobs have cut, the first whose work was made from another file since.
REPLACED = """
SELECT j.id AS job_id, w.id AS work_id
FROM job AS j CROSS JOIN LATERAL (
    SELECT id, original_hash FROM works
    WHERE corpus_id = (j.inputs ->> 'corpus_id')::bigint AND source_path = j.inputs ->> 'source_path'
    ORDER BY id LIMIT 1
) AS w
JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'cut' AND a.status = 'done' AND a.output IS NOT NULL
WHERE j.id = ANY($1::bigint[]) AND j.kind = 'work' AND w.original_hash IS DISTINCT FROM j.inputs ->> 'original'
ORDER BY j.id LIMIT 1
"""

CORPUS = "SELECT k.name FROM job AS j JOIN corpus AS k ON k.id = (j.inputs ->> 'corpus_id')::bigint WHERE j.id = $1"


class MadeWork(NamedTuple):
    """A work of the file that a job is about."""

    id: int
    title: str
    original_hash: str | None
    """The file that it was made from last; None for one of markdown that went through no stages."""


async def work_of_job(connection: Connection, job_id: int) -> MadeWork | None:
    """The work of the file that a job is about; None before there is one."""
    row = await connection.fetchrow(WORK, job_id)
    return None if row is None else MadeWork(*row)


async def replaced(connection: Connection, job_ids: Sequence[int]) -> tuple[int, int] | None:
    """The first of these jobs whose work has another text than it made, and the work; None when each has its own."""
    row = await connection.fetchrow(REPLACED, list(job_ids))
    return None if row is None else (row["job_id"], row["work_id"])


async def corpus_of_job(connection: Connection, job_id: int) -> str | None:
    """The name of the corpus that a job makes a work of; None when it is deleted."""
    name: str | None = await connection.fetchval(CORPUS, job_id)
    return name


async def jobs_of_works(connection: Connection, work_ids: Sequence[int]) -> dict[int, int]:
    """The job that made each of these works what it is, by the id of the work; others are absent."""
    rows = await connection.fetch(OF_WORKS, list(work_ids))
    return {row["work_id"]: row["job_id"] for row in rows}
