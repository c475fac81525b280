"""Chunks of works, by id, and the sections around them."""

from collections.abc import Mapping, Sequence
from typing import Any

from schemas.statuses import VectorStatus
from schemas.values.corpora import CorpusChunk
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
