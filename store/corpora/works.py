"""Works as they are stored, read while they are what they were."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from schemas.errors import WorkChangedError
from schemas.statuses import VectorStatus
from stages.corpora.lines import lines_of
from stages.queries.works import WorkName, WorkText, refuse_changed
from store.database import Connection

_BULK_SECONDS = 600.0

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
