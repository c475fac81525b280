"""Where the works of a corpus come from: read for a plan of an import, moved with a file, and removed without one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schemas.values.corpora import Bibliography
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
