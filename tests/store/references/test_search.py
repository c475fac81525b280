"""The search in a reference index: one statement for all items."""

from collections.abc import Sequence

import numpy as np
import pytest

from schemas.values.participants import PHQ8Item
from store.database import Database
from store.references.references import PostgresReferenceSearch
from tests.fakes.references import IndexedChunk
from tests.store.reference_indexes import store_index

EAST = np.array([1, 0], dtype=np.float32)


@pytest.fixture
async def statements(database: Database) -> list[str]:
    """Every statement that reaches the database from now on, one connection at a time."""
    seen: list[str] = []
    async with database.connection() as connection:
        connection.add_query_logger(lambda statement: seen.append(statement.query))
    return seen


async def test_all_items_are_searched_in_one_statement(database: Database, statements: list[str]) -> None:
    async with database.connection() as connection:
        await store_index(connection, 7, [IndexedChunk(1, 304, 0, "window", EAST)])
    search = PostgresReferenceSearch(database)

    async def sent_for(items: Sequence[PHQ8Item]) -> list[str]:
        statements.clear()
        await search.nearest(7, [(item, EAST) for item in items], limit=5, exclude_participants=[])
        return list(statements)

    await sent_for([PHQ8Item.SLEEP])  # The first time, the driver looks up the types.
    sent = await sent_for(list(PHQ8Item))
    assert sent == await sent_for([PHQ8Item.SLEEP])
    assert sum("reference_vector" in statement for statement in sent) == 1
