"""Where the works of a corpus come from: read for a plan of an import, moved with a file, and removed without one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from schemas.values.documents import Bibliography
from store.corpora.keeping import ONE_BY_ONE
from store.corpora.searchable import withdraw
from store.database import Connection

_FIELDS = tuple(Bibliography.model_fields)

SOURCES = f"""
SELECT id, source_path, content_hash, original_hash, {", ".join(_FIELDS)}
FROM works WHERE corpus_id = $1 AND source_path IS NOT NULL ORDER BY id
"""

MOVE = "UPDATE works SET source_path = $3 WHERE id = $1 AND source_path = $2 AND corpus_id = $4 RETURNING id"

HOLD = "SELECT id FROM works WHERE id = $1 AND source_path = $2 AND corpus_id = $3 FOR UPDATE"


@dataclass(frozen=True, kw_only=True)
class WorkSource:
    """A work and its file."""

    id: int
    source_path: str
    content_hash: str
    original_hash: str | None
    """Of a work that was converted from another format than markdown."""
    fields: Mapping[str, Any]
    """Its bibliography."""

    @property
    def title(self) -> str:
        """The title of the work."""
        return str(self.fields["title"])


async def sources(connection: Connection, corpus_id: int) -> list[WorkSource]:
    """The works of a corpus that come from files."""
    return [
        WorkSource(
            id=row["id"],
            source_path=row["source_path"],
            content_hash=row["content_hash"],
            original_hash=row["original_hash"],
            fields={name: row[name] for name in _FIELDS},
        )
        for row in await connection.fetch(SOURCES, corpus_id)
    ]


async def move(connection: Connection, corpus_id: int, work: WorkSource, source_path: str) -> bool:
    """Note that the file of a work has another name now. False when the work is not what it was."""
    return await connection.fetchval(MOVE, work.id, work.source_path, source_path, corpus_id) is not None


async def remove(connection: Connection, corpus_id: int, work: WorkSource) -> bool:
    """Delete a work with its chunks, vectors and postings. False when it is not what it was; it stays then.

    The file that it was converted from stays until `originals.drop_unused`.
    """
    async with connection.transaction():
        await connection.execute(ONE_BY_ONE, corpus_id)
        if await connection.fetchval(HOLD, work.id, work.source_path, corpus_id) is None:
            return False
        await withdraw(connection, work.id)
        await connection.execute("DELETE FROM works WHERE id = $1", work.id, timeout=600)
    return True


# Several jobs can have made a work of one file: that which cut it last made what is stored.
OF_WORK = """
SELECT j.id
FROM works AS w
JOIN job AS j ON j.kind = 'work' AND j.inputs ->> 'original' = w.original_hash
             AND (j.inputs ->> 'corpus_id')::bigint = w.corpus_id AND j.inputs ->> 'source_path' = w.source_path
LEFT JOIN LATERAL (
    SELECT max(a.id) AS id FROM stage_attempt AS a
    WHERE a.job_id = j.id AND a.stage = 'cut' AND a.outcome = 'succeeded'
) AS cut ON true
WHERE w.id = $1 ORDER BY cut.id DESC NULLS LAST, j.id DESC LIMIT 1
"""

WORK = """
SELECT w.id, w.title, w.original_hash FROM works AS w JOIN job AS j
  ON (j.inputs ->> 'corpus_id')::bigint = w.corpus_id AND j.inputs ->> 'source_path' = w.source_path
WHERE j.id = $1 AND j.kind = 'work' ORDER BY w.id LIMIT 1
"""

CORPUS = "SELECT k.name FROM job AS j JOIN corpus AS k ON k.id = (j.inputs ->> 'corpus_id')::bigint WHERE j.id = $1"

OF_WORKS = """
SELECT max(j.id) AS job_id, w.id AS work_id
FROM works AS w
JOIN job AS j ON j.kind = 'work' AND j.inputs ->> 'original' = w.original_hash
             AND (j.inputs ->> 'corpus_id')::bigint = w.corpus_id AND j.inputs ->> 'source_path' = w.source_path
WHERE w.id = ANY($1::bigint[]) GROUP BY w.id
"""


class MadeWork(NamedTuple):
    """A work of the file that a job is about."""

    id: int
    title: str
    original_hash: str | None
    """The file that it was made from last; None for one of markdown that went through no stages."""


async def job_of_work(connection: Connection, work_id: int) -> int | None:
    """The job that made a work what it is; None for one that no stored job made."""
    found: int | None = await connection.fetchval(OF_WORK, work_id)
    return found


async def work_of_job(connection: Connection, job_id: int) -> MadeWork | None:
    """The work of the file that a job is about; None before there is one."""
    row = await connection.fetchrow(WORK, job_id)
    return None if row is None else MadeWork(*row)


async def corpus_of_job(connection: Connection, job_id: int) -> str | None:
    """The name of the corpus that a job makes a work of; None when it is deleted."""
    name: str | None = await connection.fetchval(CORPUS, job_id)
    return name


async def jobs_of_works(connection: Connection, work_ids: Sequence[int]) -> dict[int, int]:
    """The newest job about the file of each work that was converted, by the id of the work."""
    rows = await connection.fetch(OF_WORKS, list(work_ids))
    return {row["work_id"]: row["job_id"] for row in rows}
