"""A work as it is shown: its bibliography, its headings, and its chunks with the state of their vectors."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from schemas.errors import Refused
from schemas.statuses import VectorStatus
from schemas.values.corpora import Bibliography
from stages.corpora.cut import SEPARATOR
from store.corpora.corpora import CUT, FAILED
from store.database import Connection

_FIELDS = ", ".join(f"w.{name}" for name in Bibliography.model_fields)

WORK = f"""
SELECT w.id, w.corpus_id, k.name AS corpus, w.source_path, w.content_hash, w.created_at, w.updated_at, {_FIELDS},
       count(c.id) FILTER (WHERE c.level LIKE '%-chunk') AS chunks,
       count(c.id) FILTER (WHERE c.vector_status = '{VectorStatus.VEC}') AS searchable,
       coalesce(max(c.end_line), 0) AS lines
FROM works AS w JOIN corpus AS k ON k.id = w.corpus_id LEFT JOIN chunks AS c ON c.work_id = w.id
WHERE w.id = $1 GROUP BY w.id, k.id
"""

NEWEST = """
SELECT w.id, k.name AS corpus, w.title, w.authors, w.source_path
FROM works AS w JOIN corpus AS k ON k.id = w.corpus_id
WHERE $1::bigint IS NULL OR k.id = $1 ORDER BY w.id DESC
"""

HEADINGS = """
SELECT h.id, h.parent_id, h.level, h.start_line, h.end_line, h.heading_breadcrumbs AS path,
       p.heading_breadcrumbs AS around, count(c.id) AS chunks
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

COUNT = f"SELECT count(*) FROM chunks AS c WHERE {_IN_SECTION}"

CHUNKS = f"""
SELECT c.id, c.parent_id, c.level, c.start_line, c.end_line, c.heading_breadcrumbs, c.content,
       CASE WHEN c.vector_status = '{VectorStatus.TO_VEC}' AND c.id IN ({FAILED.replace("$1", "$3")})
            THEN '{VectorStatus.VEC_ERR}' ELSE c.vector_status END AS vector_status,
       c.vector_status = '{VectorStatus.VEC}' AND c.id IN ({CUT.replace("$1", "$3")}) AS is_cut
FROM chunks AS c WHERE {_IN_SECTION} ORDER BY c.id LIMIT $4 OFFSET $5
"""


@dataclass(frozen=True, kw_only=True)
class WorkView:
    """A work without its text."""

    id: int
    corpus_id: int
    corpus: str
    source_path: str | None
    content_hash: str
    created_at: datetime
    updated_at: datetime
    title: str
    authors: str | None
    year: int | None
    publisher: str | None
    isbn: str | None
    doi: str | None
    edition: str | None
    volume: str | None
    issue: str | None
    pages: str | None
    url: str | None
    city: str | None
    institution: str | None
    editor: str | None
    abstract: str | None
    work_type: str | None
    tags: str | None
    chunks: int
    """Content chunks."""
    searchable: int
    """Those of them that can be found."""
    lines: int
    """Lines of the markdown, up to the last that is in a section."""


class NewestWork(NamedTuple):
    """A work in a list of all."""

    id: int
    corpus: str
    title: str
    authors: str | None
    source_path: str | None


@dataclass(frozen=True, kw_only=True)
class WorkHeading:
    """A section of a work."""

    id: int
    parent_id: int | None
    level: int
    """1 to 5."""
    text: str
    """The heading's own words; empty where it has none."""
    start_line: int
    end_line: int
    chunks: int
    """Content chunks of the section itself, without deeper sections."""


@dataclass(frozen=True, kw_only=True)
class WorkChunk:
    """A content chunk of a work."""

    id: int
    parent_id: int | None
    level: str
    start_line: int
    end_line: int
    heading_breadcrumbs: str | None
    content: str = field(repr=False)
    vector_status: VectorStatus
    """`vec_err` for a chunk whose job failed."""
    is_cut: bool
    """The text is longer than the embedder reads: the vector has only its beginning."""

    @property
    def words(self) -> int:
        """Words with spaces between them."""
        return len(self.content.split())


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
    return WorkView(**dict(row))


async def newest(connection: Connection, corpus_id: int | None = None) -> list[NewestWork]:
    """Every work, of one corpus where it is given, the newest first."""
    return [NewestWork(*row) for row in await connection.fetch(NEWEST, corpus_id)]


async def headings(connection: Connection, work_id: int) -> list[WorkHeading]:
    """The sections of a work in the order of its lines, sections before those inside them."""
    return [
        WorkHeading(
            id=row["id"],
            parent_id=row["parent_id"],
            level=int(row["level"].removeprefix("H")),
            text=_own_words(row["path"] or "", row["around"]),
            start_line=row["start_line"],
            end_line=row["end_line"],
            chunks=row["chunks"],
        )
        for row in await connection.fetch(HEADINGS, work_id)
    ]


async def count_chunks(connection: Connection, work_id: int, *, section: int | None = None) -> int:
    """How many chunks `chunks` lists without a limit."""
    counted: int = await connection.fetchval(COUNT, work_id, section)
    return counted


async def chunks(
    connection: Connection, of: WorkView, *, section: int | None = None, limit: int, offset: int = 0
) -> list[WorkChunk]:
    """Content chunks of a work in the order of its text; those of one section, deeper ones included, by its number."""
    rows = await connection.fetch(CHUNKS, of.id, section, of.corpus_id, limit, offset)
    return [WorkChunk(**{**row, "vector_status": VectorStatus(row["vector_status"])}) for row in rows]


def _own_words(path: str, around: str | None) -> str:
    """The last part of a path of headings. A heading without words has the path of the section around it."""
    if around is None:
        return path
    return "" if path == around else path.removeprefix(around + SEPARATOR)
