"""The contract of every ReferenceSearch. New ones are added to the list."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from schemas.errors import EmbeddingDimensionMismatchError, FailureCategory
from schemas.values.participants import PHQ8Item, Reference
from stages.ports import ReferenceSearch
from stages.texts.characters import short_hash
from stages.vectors import unit_rows
from store.database import Database
from store.references.references import PostgresReferenceSearch
from tests.fakes.references import IndexedChunk, InMemoryReferenceSearch
from tests.refusals import failing
from tests.store.reference_indexes import store_index

INDEX = 7
NOBODY: tuple[int, ...] = ()
EAST, NORTH = np.array([[1, 0], [0, 1]], dtype=np.float32)

Search: TypeAlias = Callable[[Sequence[IndexedChunk]], Awaitable[ReferenceSearch]]
"""Gives a search over chunks, which are those of index INDEX."""


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.servers)])
def search(request: pytest.FixtureRequest) -> Search:
    if request.param == "memory":

        async def in_memory(chunks: Sequence[IndexedChunk]) -> ReferenceSearch:
            return InMemoryReferenceSearch({INDEX: list(chunks)})

        return in_memory
    database: Database = request.getfixturevalue("database")

    async def in_postgres(chunks: Sequence[IndexedChunk]) -> ReferenceSearch:
        async with database.connection() as connection:
            await store_index(connection, INDEX, chunks)
        return PostgresReferenceSearch(database)

    return in_postgres


def chunk(chunk_id: int, participant_id: int, ordinal: int, vector: NDArray[np.float32], **scores: int) -> IndexedChunk:
    text = f"chunk {chunk_id} über alles"
    by_item = {PHQ8Item[name]: score for name, score in scores.items()}
    return IndexedChunk(chunk_id, participant_id, ordinal, text, vector, by_item)


async def nearest(
    search: ReferenceSearch,
    *vectors: NDArray[np.float32],
    items: Sequence[PHQ8Item] = tuple(PHQ8Item),
    index: int = INDEX,
    **how: Any,
) -> list[tuple[Reference, ...]]:
    usual: dict[str, Any] = {
        "limit": 10,
        "exclude_participants": NOBODY,
        "tagged_only": False,
        "score_source": "participant",
    }
    return await search.nearest(index, list(zip(items, vectors, strict=False)), **usual | how)


def ids(found: Sequence[Reference]) -> list[int]:
    return [reference.chunk_id for reference in found]


async def test_similarity_is_1_for_the_same_a_half_at_a_right_angle_and_0_for_the_opposite(search: Search) -> None:
    searched = await search([chunk(1, 304, 0, -EAST), chunk(2, 305, 0, NORTH), chunk(5, 306, 2, EAST, NO_INTEREST=3)])

    (found,) = await nearest(searched, EAST)

    assert [(reference.chunk_id, reference.similarity) for reference in found] == [(5, 1.0), (2, 0.5), (1, 0.0)]
    assert found[0] == Reference(
        chunk_id=5,
        participant_id=306,
        ordinal=2,
        similarity=1.0,
        score=3,
        chunk_hash=short_hash("chunk 5 über alles"),
        chunk_chars=18,
    )
    assert await nearest(searched) == []


async def test_equally_near_chunks_are_ordered_by_participant_and_ordinal_before_the_limit(search: Search) -> None:
    chunks = [chunk(1, 306, 0, EAST), chunk(2, 304, 1, EAST), chunk(3, 304, 0, EAST), chunk(4, 305, 9, EAST)]
    searched = await search(chunks)

    assert [ids(found) for found in await nearest(searched, EAST)] == [[3, 2, 4, 1]]
    assert [ids(found) for found in await nearest(searched, EAST, limit=3)] == [[3, 2, 4]]


async def test_every_excluded_participant_is_left_out_before_the_limit_counts(search: Search) -> None:
    searched = await search([chunk(1, 316, 0, EAST), chunk(2, 319, 1, EAST), chunk(3, 304, 0, -EAST)])

    (found,) = await nearest(searched, EAST, limit=1, exclude_participants=[316, 319, 330])
    nothing = await nearest(searched, EAST, NORTH, exclude_participants=[304, 316, 319])

    assert (ids(found), nothing) == ([3], [(), ()])


async def test_each_query_gets_its_own_references_and_scores_in_the_order_asked(search: Search) -> None:
    searched = await search([chunk(1, 304, 0, EAST, NO_INTEREST=1, DEPRESSED=2), chunk(2, 305, 0, NORTH, DEPRESSED=0)])

    found = await nearest(searched, NORTH, EAST, items=(PHQ8Item.DEPRESSED, PHQ8Item.NO_INTEREST))

    assert [[(reference.chunk_id, reference.score) for reference in of_query] for of_query in found] == [
        [(2, 0), (1, 2)],
        [(1, 1), (2, None)],
    ]


async def test_with_the_tag_filter_a_chunk_counts_for_its_items_alone_and_others_are_counted(search: Search) -> None:
    tagged = replace(chunk(1, 304, 0, NORTH), tags=(PHQ8Item.NO_INTEREST, PHQ8Item.SLEEP))
    searched = await search([tagged, chunk(2, 305, 0, EAST), replace(chunk(3, 306, 0, EAST), tags=(PHQ8Item.TIRED,))])
    items = PHQ8Item.MOVING, PHQ8Item.SLEEP, PHQ8Item.TIRED

    found = await nearest(searched, EAST, EAST, items=(PHQ8Item.NO_INTEREST, PHQ8Item.MOVING), tagged_only=True)

    assert [ids(of_query) for of_query in found] == [[1], []]
    assert await searched.count_untagged(INDEX, items, exclude_participants=NOBODY) == [3, 2, 2]
    assert await searched.count_untagged(INDEX, items, exclude_participants=[304]) == [2, 2, 1]
    assert await searched.count_untagged(INDEX, [], exclude_participants=[304]) == []


async def test_scores_are_the_chunks_own_on_request(search: Search) -> None:
    scored = replace(chunk(1, 304, 0, EAST, NO_INTEREST=3), own_scores={PHQ8Item.NO_INTEREST: 1})
    searched = await search([scored, chunk(2, 305, 0, NORTH, NO_INTEREST=2)])

    (found,) = await nearest(searched, EAST, items=(PHQ8Item.NO_INTEREST,), score_source="chunk")

    assert [(reference.chunk_id, reference.score) for reference in found] == [(1, 1), (2, None)]


async def test_a_missing_index_and_a_query_of_another_dimension_are_refused(search: Search) -> None:
    searched = await search([chunk(1, 304, 0, EAST)])

    with failing(FailureCategory.REFERENCE_ARTIFACT_MISSING, "Reference index 99 is not stored"):
        await nearest(searched, EAST, index=99)
    with pytest.raises(EmbeddingDimensionMismatchError, match="Expected vectors of 2 dimensions, got 3"):
        await nearest(searched, np.array([1, 0, 0], dtype=np.float32))


async def test_the_order_is_that_of_exact_cosines(search: Search) -> None:
    numbers = np.random.default_rng(7)
    rows = unit_rows(numbers.normal(size=(60, 16)).astype(np.float32), rows=60)
    query = unit_rows(numbers.normal(size=(1, 16)).astype(np.float32), rows=1)[0]
    chunks = [chunk(number, 300 + number % 7, number, row) for number, row in enumerate(rows, start=1)]

    (found,) = await nearest(await search(chunks), query, limit=20)

    exact = (1 + rows.astype(np.float64) @ query.astype(np.float64)) / 2
    assert ids(found) == [int(position) + 1 for position in np.argsort(-exact)[:20]]
    np.testing.assert_allclose([reference.similarity for reference in found], np.sort(exact)[::-1][:20], atol=1e-6)
