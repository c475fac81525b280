"""One vector per token of a chunk, in half precision, for late interaction."""

from collections.abc import Sequence

from stages.ports import Vectors
from store.database import Connection
from store.vectors import to_halfvec, to_matrix

# A work may be replaced meanwhile: its chunks are held until the end of the transaction, or are gone and passed over.
KEEP = """
WITH chunk AS (SELECT id FROM chunks WHERE id = $1 FOR KEY SHARE)
INSERT INTO chunk_token_vectors (chunk_id, vectors) SELECT id, $2 FROM chunk
ON CONFLICT (chunk_id) DO UPDATE SET vectors = excluded.vectors
"""

VECTORS = "SELECT chunk_id, vectors FROM chunk_token_vectors WHERE chunk_id = ANY($1::bigint[])"


async def keep(connection: Connection, chunk_ids: Sequence[int], matrices: Sequence[Vectors]) -> None:
    """Store one matrix per chunk, with one row per token, in place of what the chunk had. Needs a transaction.

    Chunks that are gone are passed over.
    """
    rows = [
        (chunk_id, to_halfvec(matrix))
        for chunk_id, matrix in sorted(zip(chunk_ids, matrices, strict=True), key=lambda pair: pair[0])
    ]
    await connection.executemany(KEEP, rows)


async def of_chunks(connection: Connection, chunk_ids: Sequence[int]) -> dict[int, Vectors]:
    """The vectors of chunks' tokens, by chunk id; chunks that have none are absent."""
    rows = await connection.fetch(VECTORS, list(chunk_ids))
    return {row["chunk_id"]: to_matrix(row["vectors"]) for row in rows}
