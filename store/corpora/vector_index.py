"""The vector index of a large corpus: a partial HNSW index in half precision, built once, beside running searches."""

from typing import NamedTuple

from store.database import Connection

_BUILD_SECONDS = 3600.0
_MAX_DIMENSION = 4000
"""Longer vectors of half precision have no place in an HNSW index."""

FIND = """
SELECT c.dimension, EXISTS (
    SELECT FROM pg_index AS i WHERE i.indexrelid = to_regclass('chunk_vector_hnsw_' || c.id) AND i.indisvalid
) AS has_index
FROM corpus AS c WHERE c.id = $1
"""

BUILD = """
CREATE INDEX CONCURRENTLY chunk_vector_hnsw_{corpus_id} ON chunk_vector
USING hnsw ((vector::halfvec({dimension})) halfvec_cosine_ops) WHERE corpus_id = {corpus_id}
"""

DROP = "DROP INDEX CONCURRENTLY IF EXISTS chunk_vector_hnsw_{corpus_id}"


class IndexedCorpus(NamedTuple):
    """How a corpus is searched."""

    dimension: int
    has_index: bool
    """An index that is still being built, or whose building broke off, does not count."""


async def find_index(connection: Connection, corpus_id: int) -> IndexedCorpus | None:
    """How a corpus is searched; None when it is not stored."""
    row = await connection.fetchrow(FIND, corpus_id)
    return None if row is None else IndexedCorpus(*row)


async def build_index(connection: Connection, corpus_id: int) -> bool:
    """Build the vector index of a corpus where it has none. Whether this call built it.

    Takes minutes for 100,000 chunks, blocks no reader or writer, and needs a connection outside of a transaction.
    False when there is one, when another process is building it, when the vectors are too long for one (the search
    stays exact), or when the corpus is not stored.
    """
    # Waiting here would hold a snapshot, and the build waits for every older snapshot.
    if not await connection.fetchval(
        "SELECT pg_try_advisory_lock(hashtextextended('chunk_vector_hnsw', $1))", corpus_id
    ):
        return False
    try:
        corpus = await find_index(connection, corpus_id)
        if corpus is None or corpus.has_index or corpus.dimension > _MAX_DIMENSION:
            return False
        await drop_index(connection, corpus_id)
        statement = BUILD.format(corpus_id=corpus_id, dimension=corpus.dimension)
        await connection.execute(statement, timeout=_BUILD_SECONDS)
        return True
    finally:
        await connection.execute("SELECT pg_advisory_unlock(hashtextextended('chunk_vector_hnsw', $1))", corpus_id)


async def drop_index(connection: Connection, corpus_id: int) -> None:
    """Drop the vector index of a corpus, whole or half-built; nothing happens where there is none."""
    await connection.execute(DROP.format(corpus_id=int(corpus_id)), timeout=_BUILD_SECONDS)
