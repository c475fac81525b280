"""Chunks of works, by id, and the sections around them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas.statuses import VectorStatus
from schemas.values.documents import CorpusChunk
from store.database import Connection

COLUMNS = ", ".join(f"c.{name}" for name in CorpusChunk.model_fields)

BY_ID = f"SELECT {COLUMNS} FROM chunks AS c WHERE c.id = ANY($1::bigint[])"

WAITING = (
    f"SELECT id FROM chunks WHERE work_id = $1 AND vector_status = '{VectorStatus.TO_VEC}' ORDER BY start_line, id"
)

# UNION leaves each section in once, whatever hangs on it.
AROUND = f"""
WITH RECURSIVE around AS (
    SELECT parent_id AS id FROM chunks WHERE id = ANY($1::bigint[]) AND parent_id IS NOT NULL
    UNION
    SELECT c.parent_id FROM around AS a JOIN chunks AS c ON c.id = a.id WHERE c.parent_id IS NOT NULL
)
SELECT {COLUMNS} FROM around AS a JOIN chunks AS c ON c.id = a.id
"""


async def by_ids(connection: Connection, chunk_ids: Sequence[int]) -> dict[int, CorpusChunk]:
    """Chunks by id; those that are gone are absent."""
    return _by_id(await connection.fetch(BY_ID, list(chunk_ids)))


async def around(connection: Connection, chunk_ids: Sequence[int]) -> dict[int, CorpusChunk]:
    """Every section around any of these chunks, up to the outermost, by id."""
    return _by_id(await connection.fetch(AROUND, list(chunk_ids)))


async def waiting_of(connection: Connection, work_id: int) -> list[int]:
    """The chunks of a work that wait for a vector, in the order of its lines."""
    rows = await connection.fetch(WAITING, work_id)
    return [row["id"] for row in rows]


def _by_id(rows: Sequence[Mapping[str, Any]]) -> dict[int, CorpusChunk]:
    return {row["id"]: CorpusChunk(**row) for row in rows}


# A job keeps the work that it made until the file of that work is imported again.
LINES = """
SELECT j.id AS job_id, j.inputs ->> 'name' AS name, o.size, c.output ->> 'format' AS format,
       (c.output ->> 'pages')::integer AS pages, w.id AS work_id, w.title,
       jsonb_array_length(k.output -> 'chunk_ids') AS chunks, (k.output ->> 'skipped_chunks')::integer AS skipped_chunks
FROM job AS j
LEFT JOIN original AS o ON o.hash = j.inputs ->> 'original'
LEFT JOIN current_attempt AS c ON c.job_id = j.id AND c.stage = 'convert' AND c.status = 'done'
LEFT JOIN current_attempt AS k ON k.job_id = j.id AND k.stage = 'cut' AND k.status = 'done'
LEFT JOIN works AS w ON w.id = (k.output ->> 'work_id')::bigint AND w.original_hash = j.inputs ->> 'original'
WHERE j.kind = 'work' AND j.id = ANY($1::bigint[])
"""


@dataclass(frozen=True, kw_only=True)
class DocumentLine:
    """A document on its way to a work."""

    job_id: int
    name: str = field(repr=False)
    """The name of its file."""
    size: int | None
    """Bytes; None when the file is no longer stored."""
    format: str | None
    """Found by its content; None before it is converted, like the number of pages."""
    pages: int | None
    work_id: int | None
    """None before it is cut, and when another file or nothing is in the work's place."""
    title: str | None = field(repr=False)
    chunks: int | None
    """Chunks that were to be embedded."""
    skipped_chunks: int | None


async def lines(connection: Connection, job_ids: Sequence[int]) -> dict[int, DocumentLine]:
    """The documents of jobs, by the id of the job; jobs of other kinds are absent."""
    rows = await connection.fetch(LINES, list(job_ids))
    return {row["job_id"]: DocumentLine(**dict(row)) for row in rows}
