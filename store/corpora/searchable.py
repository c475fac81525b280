"""Which chunks can be found: their vectors, their postings, and how many there are, always written together."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from pgvector import Vector

from schemas.statuses import VectorStatus
from stages.ports import Vectors
from store.database import Connection

ChunkVectors: TypeAlias = dict[int, NDArray[np.float32]]
"""One vector per chunk, by the chunk's id."""

# A tsvector keeps 256 positions of a term at most, so that a frequency fits into a small number.
MAKE_SEARCHABLE = f"""
WITH chosen AS (
    UPDATE chunks AS c SET vector_status = '{VectorStatus.VEC}'
    FROM unnest($2::bigint[], $3::vector[]) AS n (chunk_id, vector), works AS w
    WHERE c.id = n.chunk_id AND c.vector_status = '{VectorStatus.TO_VEC}' AND w.id = c.work_id AND w.corpus_id = $1
    RETURNING c.id, n.vector, c.content_tsvector, (
        SELECT coalesce(sum(cardinality(t.positions)), 0) FROM unnest(c.content_tsvector) AS t
    ) AS length
), vectors AS (
    INSERT INTO chunk_vector (chunk_id, corpus_id, vector) SELECT id, $1, vector FROM chosen
), postings AS (
    INSERT INTO chunk_term (chunk_id, term, corpus_id, frequency, length)
    SELECT c.id, t.lexeme, $1, cardinality(t.positions), c.length
    FROM chosen AS c, unnest(c.content_tsvector) AS t
), counted AS (
    UPDATE corpus SET
        searchable_chunks = searchable_chunks + (SELECT count(*) FROM chosen),
        searchable_terms = searchable_terms + (SELECT coalesce(sum(length), 0) FROM chosen)
    WHERE id = $1 AND EXISTS (SELECT FROM chosen)
)
SELECT count(*) FROM chosen
"""

# The chunks first and the corpus second, as above, so that neither waits for the other for ever.
LOCK_CHUNKS = "SELECT FROM chunks WHERE work_id = $1 ORDER BY id FOR UPDATE"

WITHDRAW = f"""
WITH gone AS (
    DELETE FROM chunk_vector AS v USING chunks AS c WHERE c.id = v.chunk_id AND c.work_id = $1 RETURNING v.chunk_id
), postings AS (
    DELETE FROM chunk_term AS t USING gone AS g WHERE t.chunk_id = g.chunk_id RETURNING t.frequency
), waiting AS (
    UPDATE chunks AS c SET vector_status = '{VectorStatus.TO_VEC}' FROM gone AS g WHERE c.id = g.chunk_id
), counted AS (
    UPDATE corpus AS k SET
        searchable_chunks = k.searchable_chunks - (SELECT count(*) FROM gone),
        searchable_terms = k.searchable_terms - (SELECT coalesce(sum(frequency), 0) FROM postings)
    FROM works AS w WHERE w.id = $1 AND k.id = w.corpus_id
)
SELECT count(*) FROM gone
"""

VECTORS = "SELECT chunk_id, vector FROM chunk_vector WHERE chunk_id = ANY($1::bigint[])"


async def make_searchable(connection: Connection, corpus_id: int, chunk_ids: Sequence[int], vectors: Vectors) -> int:
    """Store one vector per chunk, its postings and its status, and count it, in one statement. How many are new.

    Chunks that do not wait for a vector are passed over, so that the same batch may come twice; so are chunks that are
    gone and chunks of another corpus. Whoever minds compares the number with that of the chunks.
    """
    rows = [Vector(row) for row in vectors]
    if len(rows) != len(chunk_ids):
        raise ValueError(f"{len(chunk_ids)} chunks came with {len(rows)} vectors.")
    found: int = await connection.fetchval(MAKE_SEARCHABLE, corpus_id, list(chunk_ids), rows)
    return found


async def withdraw(connection: Connection, work_id: int) -> int:
    """Take the chunks of a work out of the search; they wait for vectors again. How many could be found until now.

    Needs a transaction. Deleting a work without it would leave the counts of its corpus too high.
    """
    await connection.execute(LOCK_CHUNKS, work_id)
    withdrawn: int = await connection.fetchval(WITHDRAW, work_id)
    return withdrawn


async def vectors(connection: Connection, chunk_ids: Sequence[int]) -> ChunkVectors:
    """The vectors of chunks, by id; chunks that have none are absent."""
    rows = await connection.fetch(VECTORS, list(chunk_ids))
    return {row["chunk_id"]: row["vector"].to_numpy() for row in rows}
