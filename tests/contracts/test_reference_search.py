"""The contract of every ReferenceSearch. New ones are added to the list."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from schemas.errors import EmbeddingDimensionMismatchError, FailureCategory
from schemas.values.participants import PHQ8Item, Reference
from stages.ports import ReferenceSearch, ScoreSource
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
    database: Database | None = None if request.param == "memory" else request.getfixturevalue("database")

    async def over(chunks: Sequence[IndexedChunk]) -> ReferenceSearch:
        if database is None:
            return InMemoryReferenceSearch({INDEX: list(chunks)})
        async with database.connection() as connection:
            await store_index(connection, INDEX, chunks)
        return PostgresReferenceSearch(database)

    return over


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
    queries = list(zip(items, vectors, strict=False))
    usual: dict[str, Any] = {"limit": 10, "exclude_participants": (), "score_source": "participant"}
    return await search.nearest(index, queries, **{"tagged_only": False} | usual | how)


def ids(found: Sequence[Reference]) -> list[int]:
    return [reference.chunk_id for reference in found]


async def test_similarity_is_1_for_the_same_a_half_at_a_right_angle_and_0_for_the_opposite(search: Search) -> None:
    searched = await search([chunk(1, 304, 0, -EAST), chunk(2, 305, 0, NORTH), chunk(5, 306, 2, EAST, NO_INTEREST=3)])

    (found,) = await nearest(searched, EAST)

    assert [(reference.chunk_id, reference.similarity) for reference in found] == [(5, 1.0), (2, 0.5), (1, 0.0)]
    chunk_hash = short_hash("chunk 5 über alles")
    assert found[0] == Reference(
        chunk_id=5, participant_id=306, ordinal=2, similarity=1.0, score=3, chunk_hash=chunk_hash, chunk_chars=18
    )
    assert await nearest(searched) == []
    with failing(FailureCategory.REFERENCE_ARTIFACT_MISSING, "Reference index 99 is not stored"):
        await nearest(searched, EAST, index=99)
    with pytest.raises(EmbeddingDimensionMismatchError, match="Expected vectors of 2 dimensions, got 3"):
        await nearest(searched, np.array([1, 0, 0], dtype=np.float32))


async def test_equal_chunks_are_in_order_and_others_left_out_before_the_limit(search: Search) -> None:
    equal = [chunk(1, 306, 0, EAST), chunk(2, 304, 1, EAST), chunk(3, 304, 0, EAST), chunk(4, 305, 9, EAST)]
    searched = await search([*equal, chunk(5, 307, 0, -EAST)])

    async def found(limit: int, *excluded: int) -> list[list[int]]:
        return [ids(of) for of in await nearest(searched, EAST, EAST, limit=limit, exclude_participants=excluded)]

    assert await found(10) == [[3, 2, 4, 1, 5]] * 2
    assert await found(3) == [[3, 2, 4]] * 2
    assert await found(1, 304, 305, 306, 330) == [[5]] * 2
    assert await found(1, 304, 305, 306, 307) == [[], []]


async def test_each_query_gets_its_references_in_order_with_scores_of_their_own_on_request(search: Search) -> None:
    scored = replace(chunk(1, 304, 0, EAST, NO_INTEREST=1, DEPRESSED=2), own_scores={PHQ8Item.NO_INTEREST: 3})
    searched = await search([scored, chunk(2, 305, 0, NORTH, DEPRESSED=0)])

    async def scores(source: ScoreSource) -> list[list[tuple[int, int | None]]]:
        items = (PHQ8Item.DEPRESSED, PHQ8Item.NO_INTEREST)
        found = await nearest(searched, NORTH, EAST, items=items, score_source=source)
        return [[(reference.chunk_id, reference.score) for reference in of_query] for of_query in found]

    assert await scores("participant") == [[(2, 0), (1, 2)], [(1, 1), (2, None)]]
    assert await scores("chunk") == [[(2, None), (1, None)], [(1, 3), (2, None)]]


async def test_with_the_tag_filter_a_chunk_counts_for_its_items_alone_and_others_are_counted(search: Search) -> None:
    tagged = replace(chunk(1, 304, 0, NORTH), tags=(PHQ8Item.NO_INTEREST, PHQ8Item.SLEEP))
    searched = await search([tagged, chunk(2, 305, 0, EAST), replace(chunk(3, 306, 0, EAST), tags=(PHQ8Item.TIRED,))])
    items = PHQ8Item.MOVING, PHQ8Item.SLEEP, PHQ8Item.TIRED

    found = await nearest(searched, EAST, EAST, items=(PHQ8Item.NO_INTEREST, PHQ8Item.MOVING), tagged_only=True)

    assert [ids(of_query) for of_query in found] == [[1], []]
    assert await searched.count_untagged(INDEX, items, exclude_participants=NOBODY) == [3, 2, 2]
    assert await searched.count_untagged(INDEX, items, exclude_participants=[304]) == [2, 2, 1]
    assert await searched.count_untagged(INDEX, [], exclude_participants=[304]) == []


async def test_the_order_is_that_of_exact_cosines(search: Search) -> None:
    numbers = np.random.default_rng(7)
    rows = unit_rows(numbers.normal(size=(60, 16)).astype(np.float32), rows=60)
    query = unit_rows(numbers.normal(size=(1, 16)).astype(np.float32), rows=1)[0]
    chunks = [chunk(number, 300 + number % 7, number, row) for number, row in enumerate(rows, start=1)]

    (found,) = await nearest(await search(chunks), query, limit=20)

    exact = (1 + rows.astype(np.float64) @ query.astype(np.float64)) / 2
    assert ids(found) == [int(position) + 1 for position in np.argsort(-exact)[:20]]
    np.testing.assert_allclose([reference.similarity for reference in found], np.sort(exact)[::-1][:20], atol=1e-6)
