"""Vectors, postings and counts of a corpus are always stored together."""

import asyncpg
import numpy as np
import pytest

from store.corpora import postings
from store.database import Connection
from tests.store.embedded import embed_and_publish, embedded
from tests.store.postings import postings as stored_postings
from tests.store.small_corpora import SearchableChunk, store_corpus, store_waiting

EAST, NORTH = np.array([[1, 0], [0, 1]], dtype=np.float32)
CHUNKS = [
    SearchableChunk(1, "Tea and more tea in the teapot", EAST, "Drinks"),
    SearchableChunk(2, "Bridges of stone", NORTH),
    SearchableChunk(3, "and of the", NORTH),
]


async def counts(connection: Connection, corpus_id: int) -> tuple[int, int]:
    statement = "SELECT searchable_chunks, searchable_terms FROM corpus WHERE id = $1"
    return tuple(await connection.fetchrow(statement, corpus_id))


async def test_a_searchable_chunk_has_a_vector_postings_and_a_place_in_the_counts_once(connection: Connection) -> None:
    corpus_id = await store_corpus(connection, CHUNKS)
    assert await embed_and_publish(connection, corpus_id, [1, 2], [NORTH, NORTH]) == 0

    of_first = [(1, "drink", 1, 4), (1, "tea", 2, 4), (1, "teapot", 1, 4)]
    assert await stored_postings(connection) == [*of_first, (2, "bridg", 1, 2), (2, "stone", 1, 2)]
    assert await counts(connection, corpus_id) == (3, 6)
    vectors = await connection.fetch(
        "SELECT vector FROM chunk_vector WHERE corpus_id = $1 ORDER BY chunk_id", corpus_id
    )
    assert [row["vector"].to_list() for row in vectors] == [chunk.vector.tolist() for chunk in CHUNKS]
    assert await connection.fetchval("SELECT array_agg(DISTINCT vector_status) FROM chunks") == ["vec"]


async def test_a_batch_that_fails_leaves_nothing(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus_id = await store_waiting(connection, CHUNKS)
    attempt_id = await embedded(connection, [chunk.vector for chunk in CHUNKS])
    with monkeypatch.context() as patched:
        patched.setattr(postings, "COUNT_SEARCHABLE", "SELECT 1 / (0 * ($1::int + $2::int + $3::int))")
        with pytest.raises(asyncpg.DivisionByZeroError):
            await postings.make_searchable(connection, corpus_id, [1, 2, 3], attempt_id)

    assert (await stored_postings(connection), await counts(connection, corpus_id)) == ([], (0, 0))
    assert await connection.fetchval("SELECT count(*) FROM chunk_vector") == 0
    assert await postings.make_searchable(connection, corpus_id, [1, 2, 3], attempt_id) == 3
