"""Works as they are stored, read while they are what they were."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from schemas.errors import Refused, WorkChangedError
from schemas.statuses import VectorStatus
from schemas.values.base import Listed
from schemas.values.documents import Bibliography, CorpusChunk, DocumentView, WorkFilter, WorkHeading, WorkView
from schemas.values.requests import ChunksWanted, WorksWanted
from stages.corpora.blocks import lines_of
from stages.corpora.cut import SEPARATOR
from stages.corpora.works import WorkText
from stages.queries.query_files import document_name
from store import rows
from store.corpora.corpora import CUT, FAILED
from store.corpora.postings import withdraw_work
from store.database import BULK_SECONDS, Connection, Lock, hold

TEXTS = "SELECT id, content_hash, markdown, page_lines FROM works WHERE id = ANY($1::bigint[])"

NAMES = """
SELECT w.id, w.title, c.name AS corpus FROM works AS w JOIN corpus AS c ON c.id = w.corpus_id
WHERE w.id = ANY($1::bigint[])
"""

SEARCHED = """
($1::bigint IS NULL OR w.corpus_id = $1)
AND position(lower($2) IN lower(concat_ws(' ', w.title, w.authors, w.year::text, w.source_path))) > 0
"""

_COUNTS = f"""
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE vector_status = '{VectorStatus.VEC}') AS searchable,
           count(*) FILTER (WHERE vector_status IN ('{VectorStatus.VEC}', '{VectorStatus.TO_VEC}')) AS chunks,
           coalesce(max(end_line), 0) AS lines
    FROM chunks WHERE work_id = w.id
) AS c
"""

_FIELDS = ", ".join(f"w.{name}" for name in Bibliography.model_fields)

_WORKS = f"""
SELECT w.id, w.corpus_id, k.name AS corpus, w.source_path, w.content_hash, w.original_hash, w.page_lines,
       w.created_at, w.updated_at, w.job_id, {_FIELDS}, c.*
FROM ({{chosen}}) AS w JOIN corpus AS k ON k.id = w.corpus_id {_COUNTS} ORDER BY w.title, w.id
"""

WORK = _WORKS.format(chosen="SELECT * FROM works WHERE id = $1")

LISTED = _WORKS.format(chosen=f"SELECT * FROM works AS w WHERE {SEARCHED} ORDER BY w.title, w.id LIMIT $3 OFFSET $4")


async def texts(connection: Connection, work_ids: Sequence[int]) -> dict[int, WorkText]:
    """The stored works, by id; those that are gone are absent. Raises WorkChangedError when the markdown of one does
    not match its hash."""
    stored = await connection.fetch(TEXTS, list(work_ids), timeout=BULK_SECONDS)
    return {row["id"]: WorkText(row["content_hash"], lines_of(_intact(row)), row["page_lines"]) for row in stored}


async def text(connection: Connection, work_id: int) -> tuple[str, Sequence[int]]:
    """The markdown of a work as it was imported, and the line at which each page begins. Raises Refused for a work that
    is not stored, and WorkChangedError when the markdown does not match its hash."""
    row = await connection.fetchrow(TEXTS, [work_id])
    if row is None:
        raise work_missing(work_id)
    return _intact(row), row["page_lines"]


async def titles(connection: Connection, work_ids: Sequence[int]) -> dict[int, str]:
    """The titles of works, by id; those that are gone are absent."""
    return {work_id: title for work_id, (title, _) in (await names(connection, work_ids)).items()}


async def names(connection: Connection, work_ids: Sequence[int]) -> dict[int, tuple[str, str]]:
    """The titles of works and the names of their corpora, by id; works that are gone are absent."""
    return {row["id"]: (row["title"], row["corpus"]) for row in await connection.fetch(NAMES, list(work_ids))}


async def listed(connection: Connection, corpus_id: int | None, wanted: WorksWanted) -> Listed[WorkView]:
    """The works of a corpus, or of all, by title, or a part of them; `search` is in title, authors, year or source."""
    part = await connection.fetch(LISTED, corpus_id, wanted.search, wanted.limit, wanted.offset)
    total = await connection.fetchval(f"SELECT count(*) FROM works AS w WHERE {SEARCHED}", corpus_id, wanted.search)
    return wanted.page([WorkView(**row) for row in part], total)


def _intact(row: Mapping[str, Any]) -> str:
    markdown: str = row["markdown"]
    if sha256(markdown.encode()).hexdigest() != row["content_hash"]:
        raise WorkChangedError(row["id"])
    return markdown


# Its values are the fields of a filter, in order. A comma ends a tag, with or without spaces around it.
_MATCHING = """
w.corpus_id = ANY($1::bigint[])
AND ($2::text IS NULL OR position(lower($2) IN lower(w.authors)) > 0)
AND ($3::text IS NULL OR position(lower($3) IN lower(w.title)) > 0)
AND ($4::text IS NULL OR lower($4) = ANY(regexp_split_to_array(btrim(lower(w.tags)), '\\s*,\\s*')))
AND ($5::int IS NULL OR w.year >= $5) AND ($6::int IS NULL OR w.year <= $6)
"""

CHUNKS = f"""
SELECT c.id FROM works AS w JOIN chunks AS c ON c.work_id = w.id
WHERE {_MATCHING} AND c.vector_status = '{VectorStatus.VEC}' ORDER BY c.id
"""

WORK_FILTER_COUNT = f"""
SELECT count(*) AS works, count(*) FILTER (WHERE EXISTS (
    SELECT FROM chunks AS c WHERE c.work_id = w.id AND c.vector_status = '{VectorStatus.VEC}'
)) AS searchable
FROM works AS w WHERE {_MATCHING}
"""


async def matching_chunks(connection: Connection, corpus_ids: Sequence[int], works: WorkFilter) -> list[int]:
    """The chunks of these works that can be found, by id."""
    return [row["id"] for row in await connection.fetch(CHUNKS, list(corpus_ids), *dict(works).values())]


async def matching_works(connection: Connection, corpus_ids: Sequence[int], works: WorkFilter) -> tuple[int, int]:
    """How many works a filter leaves, and how many of them have a chunk that can be found."""
    row = await connection.fetchrow(WORK_FILTER_COUNT, list(corpus_ids), *dict(works).values())
    return row["works"], row["searchable"]


# A heading without words has the path of the section around it.
HEADINGS = f"""
SELECT h.id, h.parent_id, right(h.level, -1)::int AS level, h.start_line, h.end_line, count(c.id) AS chunks,
       CASE WHEN p.id IS NULL THEN coalesce(h.heading_breadcrumbs, '')
            WHEN h.heading_breadcrumbs IS NOT DISTINCT FROM p.heading_breadcrumbs THEN ''
            ELSE split_part(h.heading_breadcrumbs, '{SEPARATOR}', -1) END AS text
FROM chunks AS h
LEFT JOIN chunks AS p ON p.id = h.parent_id
LEFT JOIN chunks AS c ON c.parent_id = h.id AND c.level LIKE '%-chunk'
WHERE h.work_id = $1 AND h.level NOT LIKE '%-chunk'
GROUP BY h.id, p.id ORDER BY h.id
"""

# The chunks of a section have lines of it, those of deeper sections too.
_IN_SECTION = """
c.work_id = $1 AND c.level LIKE '%-chunk' AND ($2::bigint IS NULL OR EXISTS (
    SELECT FROM chunks AS h WHERE h.id = $2 AND h.work_id = $1 AND c.start_line BETWEEN h.start_line AND h.end_line
))
"""

WORK_VIEW_CHUNKS = f"""
SELECT c.id, c.work_id, c.parent_id, c.level, c.start_line, c.end_line, c.heading_breadcrumbs, c.content,
       CASE WHEN c.vector_status = '{VectorStatus.TO_VEC}' AND c.id IN ({FAILED.replace("$1", "$3")})
            THEN '{VectorStatus.VEC_ERR}' ELSE c.vector_status END AS vector_status,
       c.vector_status = '{VectorStatus.VEC}' AND c.id IN ({CUT.replace("$1", "$3")}) AS is_cut
FROM chunks AS c WHERE {_IN_SECTION} ORDER BY c.id LIMIT $4 OFFSET $5
"""


def work_missing(work_id: int) -> Refused:
    """No work has this number."""
    return Refused(
        f"There is no work {work_id}; `ragq corpus show NAME` lists the works of a corpus.", slug="work-missing"
    )


async def work(connection: Connection, work_id: int) -> WorkView:
    """A work. Raises Refused when there is none."""
    row = await connection.fetchrow(WORK, work_id)
    if row is None:
        raise work_missing(work_id)
    headings = [WorkHeading(**heading) for heading in await connection.fetch(HEADINGS, work_id)]
    return WorkView(**row, headings=tuple(headings))


async def chunks(connection: Connection, work_id: int, wanted: ChunksWanted) -> Listed[CorpusChunk]:
    """Content chunks of a work in the order of its text; with `heading` those of its section, deeper ones included.
    Raises Refused for a work that is not stored."""
    corpus_id = await rows.value(connection, "works", "corpus_id", id=work_id)
    if corpus_id is None:
        raise work_missing(work_id)
    total = await connection.fetchval(f"SELECT count(*) FROM chunks AS c WHERE {_IN_SECTION}", work_id, wanted.heading)
    part = (work_id, wanted.heading, corpus_id, wanted.limit, wanted.offset)
    return wanted.page([CorpusChunk(**row) for row in await connection.fetch(WORK_VIEW_CHUNKS, *part)], total)


async def remove(connection: Connection, corpus_id: int, work_id: int) -> bool:
    """Delete a work with its chunks, vectors and postings. False when the corpus has no such work. The file that it was
    converted from stays until `corpora.drop_unused`."""
    async with connection.transaction():
        await hold(connection, Lock.WORKS, corpus_id)
        held = "SELECT FROM works WHERE id = $1 AND corpus_id = $2 FOR UPDATE"
        if await connection.fetchrow(held, work_id, corpus_id) is None:
            return False
        await withdraw_work(connection, work_id)
        await connection.execute("DELETE FROM works WHERE id = $1", work_id, timeout=BULK_SECONDS)
    return True


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


async def refuse_replaced(connection: Connection, job_ids: Sequence[int]) -> None:
    """Raise Refused for the first of these jobs whose work has another text than it made."""
    if (row := await connection.fetchrow(REPLACED, list(job_ids))) is not None:
        raise Refused(
            f"Work {row['work_id']} has another text than job j{row['job_id']} made, because its file was imported "
            f"again; `ragq work show {row['work_id']}` names the job of the present text.",
            slug="document-replaced",
        )


COLUMNS = ", ".join(f"c.{name}" for name in CorpusChunk.model_fields if name != "is_cut")

BY_ID = f"SELECT {COLUMNS} FROM chunks AS c WHERE c.id = ANY($1::bigint[])"

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
    return {row["id"]: CorpusChunk(**row) for row in await connection.fetch(BY_ID, list(chunk_ids))}


async def around(connection: Connection, chunk_ids: Sequence[int]) -> dict[int, CorpusChunk]:
    """Every section around any of these chunks, up to the outermost, by id."""
    return {row["id"]: CorpusChunk(**row) for row in await connection.fetch(AROUND, list(chunk_ids))}


async def waiting_of(connection: Connection, work_id: int) -> list[int]:
    """The chunks of a work that wait for a vector, in the order of its lines."""
    waits = {"work_id": work_id, "vector_status": VectorStatus.TO_VEC}
    return await rows.values(connection, "chunks", "id", order="start_line, id", **waits)


# A job keeps the work that it made until the file of that work is imported again.
DOCUMENTS = """
SELECT j.id AS job_id, j.run_id, j.status, j.inputs ->> 'name' AS name, p.name AS corpus, length(o.content) AS size,
       c.*, w.id AS work_id, w.title, r.output ->> 'by' AS repaired_by, s.output ->> 'by' AS selected_by,
       coalesce(r.output ->> 'model', s.output ->> 'model') AS model,
       jsonb_array_length(k.output -> 'chunk_ids') AS chunks, (k.output ->> 'skipped_chunks')::integer AS skipped_chunks
FROM job AS j
LEFT JOIN corpus AS p ON p.id = (j.inputs ->> 'corpus_id')::bigint
LEFT JOIN original AS o ON o.hash = j.inputs ->> 'original'
LEFT JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'convert' AND a.status = 'done'
LEFT JOIN LATERAL jsonb_to_record(a.output) AS c (
    format text, pages integer, converter text, headings_by text, left_out_lines integer, pages_without_text jsonb
) ON true
LEFT JOIN current_attempt AS r ON r.job_id = j.id AND r.stage = 'repair' AND r.status = 'done'
LEFT JOIN current_attempt AS s ON s.job_id = j.id AND s.stage = 'select' AND s.status = 'done'
LEFT JOIN current_attempt AS k ON k.job_id = j.id AND k.stage = 'cut' AND k.status = 'done'
LEFT JOIN works AS w ON w.id = (k.output ->> 'work_id')::bigint AND w.original_hash = j.inputs ->> 'original'
WHERE j.kind = 'work' AND j.id = ANY($1::bigint[])
"""


async def documents(connection: Connection, job_ids: Sequence[int]) -> dict[int, DocumentView]:
    """The documents of jobs without their headings, by the id of the job; jobs of other kinds are absent."""
    return {row["job_id"]: DocumentView(**row) for row in await connection.fetch(DOCUMENTS, list(job_ids))}


async def documents_of(connection: Connection, corpus_ids: Sequence[int]) -> set[str]:
    """The works of corpora, as judgements name them."""
    paths = await rows.values(connection, "works", "source_path", corpus_id=list(corpus_ids))
    return {document_name(path) for path in paths}
