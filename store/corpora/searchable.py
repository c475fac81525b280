"""Which chunks can be found: their vectors, their postings, and how many there are, always written together."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from schemas.statuses import VectorStatus
from store.corpora import postings
from store.corpora.postings import CountedChunk
from store.database import Connection
from store.vectors import to_numpy

ChunkVectors: TypeAlias = dict[int, NDArray[np.float32]]
"""One vector per chunk, by the chunk's id."""

MAKE_SEARCHABLE = f"""
WITH embedded AS (
    SELECT count(*) AS vectors FROM stage_vector WHERE attempt_id = $3
), chosen AS (
    UPDATE chunks AS c SET vector_status = '{VectorStatus.VEC}'
    FROM unnest($2::bigint[]) WITH ORDINALITY AS n (chunk_id, place), stage_vector AS v, works AS w
    WHERE c.id = n.chunk_id AND c.vector_status = '{VectorStatus.TO_VEC}' AND w.id = c.work_id AND w.corpus_id = $1
      AND v.attempt_id = $3 AND v.ordinal = n.place - 1 AND cardinality($2) = (SELECT vectors FROM embedded)
    RETURNING c.id, v.vector, c.content_tsvector
), vectors AS (
    INSERT INTO chunk_vector (chunk_id, corpus_id, vector) SELECT id, $1, vector FROM chosen
)
SELECT e.vectors, c.id, t.terms, t.frequencies
FROM embedded AS e LEFT JOIN chosen AS c ON true LEFT JOIN LATERAL (
    SELECT coalesce(array_agg(lexeme), '{{}}') AS terms,
           coalesce(array_agg(cardinality(positions)), '{{}}') AS frequencies
    FROM unnest(c.content_tsvector)
) AS t ON true
ORDER BY c.id
"""

COUNT = """
UPDATE corpus SET searchable_chunks = searchable_chunks + $2, searchable_terms = searchable_terms + $3 WHERE id = $1
"""

# The chunks first, their postings second and the corpus last, as in `make_searchable`, so that they cannot deadlock.
LOCK_CHUNKS = "SELECT FROM chunks WHERE work_id = $1 ORDER BY id FOR UPDATE"

WITHDRAW = f"""
WITH gone AS (
    DELETE FROM chunk_vector AS v USING chunks AS c WHERE c.id = v.chunk_id AND c.work_id = $1
    RETURNING v.chunk_id, v.corpus_id
), waiting AS (
    UPDATE chunks AS c SET vector_status = '{VectorStatus.TO_VEC}' FROM gone AS g WHERE c.id = g.chunk_id
)
SELECT corpus_id, array_agg(chunk_id) AS chunk_ids FROM gone GROUP BY corpus_id
"""

VECTORS = "SELECT chunk_id, vector FROM chunk_vector WHERE chunk_id = ANY($1::bigint[])"


async def make_searchable(connection: Connection, corpus_id: int, chunk_ids: Sequence[int], attempt_id: int) -> int:
    """Copy each chunk's vector from the attempt that embedded all of them, in this order; store its postings and its
    status, and count it, all or nothing. How many are new.

    Chunks that do not wait for a vector are passed over, so that the same batch may come twice; so are chunks that are
    gone and chunks of another corpus. Callers that need all of them compare the number with that of the chunks.
    """
    async with connection.transaction():
        found = await connection.fetch(MAKE_SEARCHABLE, corpus_id, list(chunk_ids), attempt_id)
        if found[0]["vectors"] != len(chunk_ids):
            raise ValueError(f"{len(chunk_ids)} chunks came with {found[0]['vectors']} vectors.")
        new = [CountedChunk(*row[1:]) for row in map(tuple, found) if row[1] is not None]
        if new:
            terms = await postings.add(connection, corpus_id, new)
            # Batches of one corpus wait for each other from here to the end of the transaction.
            await connection.execute(COUNT, corpus_id, len(new), terms)
    return len(new)


async def withdraw(connection: Connection, work_id: int) -> int:
    """Take the chunks of a work out of the search; they wait for vectors again. How many could be found until now.

    Needs a transaction. Deleting a work without it would leave its postings, and the counts of its corpus too high.
    """
    await connection.execute(LOCK_CHUNKS, work_id)
    gone = await connection.fetchrow(WITHDRAW, work_id)
    if gone is None:
        return 0
    terms = await postings.withdraw(connection, gone["corpus_id"], gone["chunk_ids"])
    await connection.execute(COUNT, gone["corpus_id"], -len(gone["chunk_ids"]), -terms)
    return len(gone["chunk_ids"])


async def vectors(connection: Connection, chunk_ids: Sequence[int]) -> ChunkVectors:
    """The vectors of chunks, by id; chunks that have none are absent."""
    rows = await connection.fetch(VECTORS, list(chunk_ids))
    return {row["chunk_id"]: to_numpy(row["vector"]) for row in rows}
