"""The jobs of documents in one line each: the file, what was found in it, and the work that was made of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from store.database import Connection

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
