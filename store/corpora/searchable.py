"""Which chunks can be found: their vectors, their postings, and how many there are, always written together."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from schemas.statuses import VectorStatus
from store.database import Connection
from store.vectors import to_numpy

ChunkVectors: TypeAlias = dict[int, NDArray[np.float32]]
"""One vector per chunk, by the chunk's id."""

# A tsvector keeps 256 positions of a term at most, so that a frequency fits into a small number.
MAKE_SEARCHABLE = f"""
WITH embedded AS (
    SELECT count(*) AS vectors FROM stage_vector WHERE attempt_id = $3
), chosen AS (
    UPDATE chunks AS c SET vector_status = '{VectorStatus.VEC}'
    FROM unnest($2::bigint[]) WITH ORDINALITY AS n (chunk_id, place), stage_vector AS v, works AS w
    WHERE c.id = n.chunk_id AND c.vector_status = '{VectorStatus.TO_VEC}' AND w.id = c.work_id AND w.corpus_id = $1
      AND v.attempt_id = $3 AND v.ordinal = n.place - 1 AND cardinality($2) = (SELECT vectors FROM embedded)
    RETURNING c.id, v.vector, c.content_tsvector, (
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
SELECT (SELECT count(*) FROM chosen) AS new, vectors FROM embedded
"""

# The chunks first and the corpus second, as above, so that they cannot deadlock.
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


async def make_searchable(connection: Connection, corpus_id: int, chunk_ids: Sequence[int], attempt_id: int) -> int:
    """Copy each chunk's vector from the attempt that embedded all of them, in this order; store its postings and its
    status, and count it, in one statement. How many are new.

    Chunks that do not wait for a vector are passed over, so that the same batch may come twice; so are chunks that are
    gone and chunks of another corpus. Callers that need all of them compare the number with that of the chunks.
    """
    found = await connection.fetchrow(MAKE_SEARCHABLE, corpus_id, list(chunk_ids), attempt_id)
    if found["vectors"] != len(chunk_ids):
        raise ValueError(f"{len(chunk_ids)} chunks came with {found['vectors']} vectors.")
    new: int = found["new"]
    return new


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
    return {row["chunk_id"]: to_numpy(row["vector"]) for row in rows}
