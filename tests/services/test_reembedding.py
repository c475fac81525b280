"""Copies of corpora: they follow their corpus, and exchange vectors with it whole or not at all."""

import numpy as np
import pytest

from schemas.errors import Refused
from services.corpora import switch
from store.corpora import chunk_search, corpora, keeping
from store.corpora.postings import withdraw_work
from store.database import Connection, Database
from tests.store.small_corpora import SearchableChunk, embed_and_publish, small_corpus, store_corpus

VECTORS = {9001: [1.0, 0.0], 9002: [0.0, 1.0]}
CHUNKS = [SearchableChunk(id_, f"text {id_}", np.array(vector, np.float32)) for id_, vector in VECTORS.items()]
INDEX = "SELECT max(indexrelid) FROM pg_index WHERE indrelid = 'chunk_vector'::regclass"
NEW = np.array([[0, 0, 1], [1, 0, 0]], np.float32)


async def copied(connection: Connection) -> tuple[int, int]:
    """A corpus in two dimensions, and its copy in three whose chunks wait."""
    of = await corpora.corpus(connection, await store_corpus(connection, CHUNKS, name="shelf"))
    await connection.execute("UPDATE works SET content_hash = encode(sha256(markdown::bytea), 'hex')")
    copy = await small_corpus(connection, "shelf-copy", model="other", dimension=3, copy_of_id=of.id)
    assert await keeping.follow(connection, of.id, copy.id) == 1
    return of.id, copy.id


async def vectors(connection: Connection, corpus_id: int) -> list[list[float]]:
    rows = await connection.fetch("SELECT vector FROM chunk_vector WHERE corpus_id = $1 ORDER BY chunk_id", corpus_id)
    return [row["vector"].to_list() for row in rows]


async def test_a_switch_waits_for_vectors_and_rebuilds_indexes(database: Database, connection: Connection) -> None:
    of, copy = await copied(connection)
    first, second = await corpora.waiting(connection, copy)
    await embed_and_publish(connection, copy, [first], NEW[:1])
    async with database.session() as session:
        assert await chunk_search.build_index(session, of)
    index = await connection.fetchval(INDEX)

    with pytest.raises(Refused, match="1 wait for a vector"):
        await switch(database, "shelf")
    kept = [await vectors(connection, of), (await corpora.corpus(connection, of)).dimension]
    assert await connection.fetchval(INDEX) == index, "it was built again"
    await embed_and_publish(connection, copy, [second], NEW[1:])
    taken = await switch(database, "shelf")

    old = [chunk.vector.tolist() for chunk in CHUNKS]
    assert kept == [old, 2]
    assert (taken.id, taken.model, taken.dimension) == (of, "other", 3)
    assert (await vectors(connection, of), await vectors(connection, copy)) == (NEW.tolist(), old)
    assert (await corpora.view(connection, of)).has_vector_index
    with pytest.raises(Refused, match="already"):
        await switch(database, "shelf")
    assert (await switch(database, "shelf", back=True)).dimension == 2


async def test_a_copy_follows_works_that_are_cut_anew_or_deleted(connection: Connection) -> None:
    of, copy = await copied(connection)
    await embed_and_publish(connection, copy, await corpora.waiting(connection, copy), NEW)
    assert await keeping.follow(connection, of, copy) == 0
    await connection.execute("UPDATE chunks SET end_line = 9 WHERE id = 9001")
    assert await keeping.follow(connection, of, copy) == 1
    assert len(await corpora.waiting(connection, copy)) == 2
    async with connection.transaction():
        await withdraw_work(connection, await connection.fetchval("SELECT id FROM works WHERE corpus_id = $1", of))
        await connection.execute("DELETE FROM works WHERE corpus_id = $1", of)
    assert await keeping.follow(connection, of, copy) == 0
    found = await corpora.corpus(connection, copy)

    assert (await corpora.view(connection, copy)).works == found.searchable_chunks == 0
