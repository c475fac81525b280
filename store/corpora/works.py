"""Works: stored with their chunks, replaced with their chunks, and read while they are what they were."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum, auto
from hashlib import sha256
from typing import Any, NamedTuple

from schemas.errors import DuplicateWorkError, WorkChangedError
from schemas.statuses import VectorStatus
from schemas.values.corpora import Bibliography, CutChunk
from stages.corpora.lines import lines_of
from stages.queries.works import WorkName, WorkText, refuse_changed
from store.corpora.searchable import withdraw
from store.database import Connection

_BULK_SECONDS = 600.0

_FIELDS = tuple(Bibliography.model_fields)
_CUT = ("level", "content", "heading_breadcrumbs", "start_line", "end_line")

# Two imports into a corpus at the same moment take turns, so that one sees what the other stored.
ONE_BY_ONE = "SELECT pg_advisory_xact_lock(hashtextextended('works', $1))"

SAME_TEXT = f"SELECT id, source_path, {', '.join(_FIELDS)} FROM works WHERE corpus_id = $1 AND content_hash = $2"

SAME_PATH = "SELECT min(id) FROM works WHERE corpus_id = $1 AND source_path = $2"

SAME_NAME = """
SELECT min(id) FROM works
WHERE corpus_id = $1 AND source_path IS NULL AND title = $2 AND authors IS NOT DISTINCT FROM $3
"""

ADD = f"""
INSERT INTO works (corpus_id, source_path, markdown, content_hash, original_hash, page_lines, {", ".join(_FIELDS)})
VALUES ($1, $2, $3, $4, $5, $6, {", ".join(f"${place}" for place in range(7, 7 + len(_FIELDS)))}) RETURNING id
"""

REPLACE = f"""
UPDATE works SET markdown = $2, content_hash = $3, original_hash = $4, page_lines = $5, updated_at = now(),
       {", ".join(f"{name} = ${place}" for place, name in enumerate(_FIELDS, start=6))}
WHERE id = $1
"""

FROM_FILE = """
UPDATE works SET original_hash = $2, page_lines = $3
WHERE id = $1 AND (original_hash IS DISTINCT FROM $2 OR page_lines <> $3)
"""

# Whether they have their vectors yet does not matter.
CUT = f"""
SELECT {", ".join(_CUT)},
       CASE vector_status WHEN '{VectorStatus.VEC}' THEN '{VectorStatus.TO_VEC}' ELSE vector_status END AS vector_status
FROM chunks WHERE work_id = $1 ORDER BY id
"""

NEW_IDS = """
SELECT nextval(pg_get_serial_sequence('chunks', 'id')) AS id FROM generate_series(1, $1) ORDER BY id
"""

TEXTS = "SELECT id, title, content_hash, markdown, page_lines FROM works WHERE id = ANY($1::bigint[])"

NAMES = """
SELECT w.id, w.title, c.name AS corpus FROM works AS w JOIN corpus AS c ON c.id = w.corpus_id
WHERE w.id = ANY($1::bigint[])
"""

SEARCHED = """
w.corpus_id = $1
AND position(lower($2) IN lower(concat_ws(' ', w.title, w.authors, w.year::text, w.source_path))) > 0
"""

LISTED = f"""
SELECT w.id, w.title, w.authors, w.year, w.source_path, w.content_hash, w.created_at, w.updated_at,
       count(c.id) FILTER (WHERE c.vector_status = '{VectorStatus.VEC}') AS searchable,
       count(c.id) FILTER (WHERE c.vector_status IN ('{VectorStatus.VEC}', '{VectorStatus.TO_VEC}')) AS chunks
FROM (
    SELECT * FROM works AS w WHERE {SEARCHED} ORDER BY w.title, w.id LIMIT $3 OFFSET $4
) AS w LEFT JOIN chunks AS c ON c.work_id = w.id
GROUP BY w.id, w.title, w.authors, w.year, w.source_path, w.content_hash, w.created_at, w.updated_at
ORDER BY w.title, w.id
"""

COUNT = f"SELECT count(*) FROM works AS w WHERE {SEARCHED}"


@dataclass(frozen=True, kw_only=True)
class NewWork:
    """A work to store."""

    bibliography: Bibliography
    source_path: str | None
    """The file it comes from; without one, a work is identified by title and authors."""
    markdown: str
    chunks: Sequence[CutChunk]
    original_hash: str | None = None
    """The file that the markdown was converted from; None for one that was markdown."""
    page_lines: Sequence[int] = ()
    """The line at which each page begins; empty for a work without pages."""

    @property
    def content_hash(self) -> str:
        """SHA-256 of the markdown in UTF-8."""
        return sha256(self.markdown.encode()).hexdigest()


class ImportOutcome(StrEnum):
    """What became of a work that was imported."""

    NEW = auto()
    REPLACED = auto()
    """The same source had another text, or other metadata: its chunks are new ones."""
    UNCHANGED = auto()


class KeptWork(NamedTuple):
    """A work that is stored now."""

    work_id: int
    outcome: ImportOutcome


@dataclass(frozen=True, kw_only=True)
class ListedWork:
    """A work in one line."""

    id: int
    title: str
    authors: str | None
    year: int | None
    source_path: str | None
    content_hash: str
    created_at: datetime
    updated_at: datetime
    chunks: int
    """Content chunks that are searched or wait for it."""
    searchable: int


async def keep(connection: Connection, corpus_id: int, work: NewWork) -> KeptWork:
    """Store a work and its chunks, or replace the one of the same source; all or nothing.

    A replaced work keeps its id, and everything that was computed from its old text then fails with WorkChangedError.
    One that was converted is also replaced when the same text is cut into other chunks, or others are embedded.
    Raises DuplicateWorkError when another work of the corpus has the same text.
    """
    async with connection.transaction():
        await connection.execute(ONE_BY_ONE, corpus_id)
        described = work.bibliography.model_dump()
        origin = (work.original_hash, list(work.page_lines))
        same_source = await _of_same_source(connection, corpus_id, work)
        same_text = await connection.fetchrow(SAME_TEXT, corpus_id, work.content_hash)
        if same_text is not None and same_text["id"] != same_source:
            raise DuplicateWorkError(same_text["id"], same_text["title"])
        if (
            same_text is not None
            and {name: same_text[name] for name in described} == described
            and (work.original_hash is None or await _has_chunks(connection, same_text["id"], work.chunks))
        ):
            await connection.execute(FROM_FILE, same_text["id"], *origin)
            return KeptWork(same_text["id"], ImportOutcome.UNCHANGED)
        if same_source is None:
            work_id: int = await connection.fetchval(
                ADD, corpus_id, work.source_path, work.markdown, work.content_hash, *origin, *described.values()
            )
            await _keep_chunks(connection, work_id, work.chunks)
            return KeptWork(work_id, ImportOutcome.NEW)
        await withdraw(connection, same_source)
        await connection.execute("DELETE FROM chunks WHERE work_id = $1", same_source, timeout=_BULK_SECONDS)
        await connection.execute(REPLACE, same_source, work.markdown, work.content_hash, *origin, *described.values())
        await _keep_chunks(connection, same_source, work.chunks)
        return KeptWork(same_source, ImportOutcome.REPLACED)


async def texts(connection: Connection, work_ids: Sequence[int]) -> dict[int, WorkText]:
    """The stored works, by id; those that are gone are absent.

    Raises WorkChangedError when the markdown of one does not match its hash.
    """
    rows = await connection.fetch(TEXTS, list(work_ids), timeout=_BULK_SECONDS)
    return {
        row["id"]: WorkText(row["title"], row["content_hash"], lines_of(_intact(row)), row["page_lines"])
        for row in rows
    }


async def markdown(connection: Connection, work_id: int) -> str | None:
    """The markdown of a work as it was imported; None when there is no such work.

    Raises WorkChangedError when it does not match its hash.
    """
    row = await connection.fetchrow(TEXTS, [work_id])
    return None if row is None else _intact(row)


async def unchanged_texts(connection: Connection, hashes: Mapping[int, str]) -> dict[int, WorkText]:
    """The works of these ids with these hashes. Raises WorkChangedError for one that is gone or has another."""
    found = await texts(connection, list(hashes))
    refuse_changed(found, hashes)
    return found


async def titles(connection: Connection, work_ids: Sequence[int]) -> dict[int, str]:
    """The titles of works, by id; those that are gone are absent."""
    return {work_id: name.title for work_id, name in (await names(connection, work_ids)).items()}


async def names(connection: Connection, work_ids: Sequence[int]) -> dict[int, WorkName]:
    """The titles of works with the names of their corpora, by id; works that are gone are absent."""
    rows = await connection.fetch(NAMES, list(work_ids))
    return {row["id"]: WorkName(row["title"], row["corpus"]) for row in rows}


async def original(connection: Connection, work_id: int) -> tuple[str, str] | None:
    """The hash and the path of the file that a work was converted from; None for one of markdown, and for none."""
    row = await connection.fetchrow(
        "SELECT original_hash, source_path FROM works WHERE id = $1 AND original_hash IS NOT NULL", work_id
    )
    return None if row is None else (row["original_hash"], row["source_path"])


async def page_lines(connection: Connection, work_id: int) -> list[int]:
    """The line at which each page of a work begins; empty for a work without pages."""
    found: list[int] | None = await connection.fetchval("SELECT page_lines FROM works WHERE id = $1", work_id)
    return found or []


async def listed(
    connection: Connection, corpus_id: int, *, search: str = "", limit: int | None = None, offset: int = 0
) -> list[ListedWork]:
    """The works of a corpus by title, or a part of them; `search` is in title, authors, year or source."""
    rows = await connection.fetch(LISTED, corpus_id, search, limit, offset)
    return [ListedWork(**dict(row)) for row in rows]


async def count(connection: Connection, corpus_id: int, *, search: str = "") -> int:
    """How many works `listed` lists without a limit."""
    counted: int = await connection.fetchval(COUNT, corpus_id, search)
    return counted


def _intact(row: Mapping[str, Any]) -> str:
    markdown: str = row["markdown"]
    if sha256(markdown.encode()).hexdigest() != row["content_hash"]:
        raise WorkChangedError(row["id"])
    return markdown


async def _has_chunks(connection: Connection, work_id: int, chunks: Sequence[CutChunk]) -> bool:
    """Whether a work was cut into these chunks, and the same of them are embedded."""
    stored = await connection.fetch(CUT, work_id, timeout=_BULK_SECONDS)
    cut = [tuple(getattr(chunk, name) for name in (*_CUT, "vector_status")) for chunk in chunks]
    return [tuple(row.values()) for row in stored] == cut


async def _of_same_source(connection: Connection, corpus_id: int, work: NewWork) -> int | None:
    if work.source_path is not None:
        found: int | None = await connection.fetchval(SAME_PATH, corpus_id, work.source_path)
    else:
        named = (work.bibliography.title, work.bibliography.authors)
        found = await connection.fetchval(SAME_NAME, corpus_id, *named)
    return found


async def _keep_chunks(connection: Connection, work_id: int, chunks: Sequence[CutChunk]) -> None:
    ids = [row["id"] for row in await connection.fetch(NEW_IDS, len(chunks))]
    await connection.copy_records_to_table(
        "chunks",
        columns=("id", "work_id", "parent_id", *_CHUNK_FIELDS),
        records=_chunk_records(work_id, ids, chunks),
        timeout=_BULK_SECONDS,
    )


_CHUNK_FIELDS = (*_CUT, "vector_status", "tokens")


def _chunk_records(work_id: int, ids: Sequence[int], chunks: Sequence[CutChunk]) -> Iterator[tuple[Any, ...]]:
    for chunk_id, chunk in zip(ids, chunks, strict=True):
        parent_id = None if chunk.parent is None else ids[chunk.parent]
        yield chunk_id, work_id, parent_id, *(getattr(chunk, field) for field in _CHUNK_FIELDS)
