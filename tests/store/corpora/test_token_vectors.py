"""Vectors of tokens, kept per chunk."""

import numpy as np

from stages.ports import Vectors
from store.corpora import token_vectors
from store.database import Connection, Database
from tests.store.small_corpora import SearchableChunk, store_waiting

EAST, NORTH = np.eye(2, dtype=np.float32)
THREE = np.array([[1, 0], [0, 1], [0.5, -0.5]], dtype=np.float32)
ONE = np.array([[0.25, 0.75]], dtype=np.float32)


async def kept(connection: Connection, ids: list[int], matrices: list[Vectors]) -> None:
    async with connection.transaction():
        await token_vectors.keep(connection, ids, matrices)


async def test_each_chunk_has_as_many_vectors_as_tokens(database: Database) -> None:
    async with database.connection() as connection:
        await store_waiting(connection, [SearchableChunk(1, "tea", EAST), SearchableChunk(2, "milk", NORTH)])

        await kept(connection, [2, 1], [ONE, THREE])

        found = await token_vectors.of_chunks(connection, [1, 2, 3])
        assert set(found) == {1, 2}
        np.testing.assert_array_equal(found[1], THREE)
        np.testing.assert_array_equal(found[2], ONE)


async def test_the_same_batch_may_be_stored_twice_and_the_later_one_is_kept(database: Database) -> None:
    async with database.connection() as connection:
        await store_waiting(connection, [SearchableChunk(1, "tea", EAST)])

        await kept(connection, [1], [THREE])
        await kept(connection, [1], [ONE])

        np.testing.assert_array_equal((await token_vectors.of_chunks(connection, [1]))[1], ONE)


async def test_deleted_chunks_are_skipped_and_their_vectors_deleted(database: Database) -> None:
    async with database.connection() as connection:
        await store_waiting(connection, [SearchableChunk(1, "tea", EAST)])
        await kept(connection, [1, 7], [THREE, ONE])
        assert set(await token_vectors.of_chunks(connection, [1, 7])) == {1}

        await connection.execute("DELETE FROM works")

        assert await connection.fetchval("SELECT count(*) FROM chunk_token_vectors") == 0
