"""References of an item, nearest first."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from schemas.errors import EmbeddingDimensionMismatchError, EmbeddingValidationError, FailureCategory
from schemas.values.participants import EmbeddedEvidence, PHQ8Item, Reference, RetrievedReferences
from stages.participants.retrieve import never_used, retrieve_references
from stages.ports import ReferenceSearch
from stages.vectors import similarities
from tests.fakes.references import IndexedChunk, InMemoryReferenceSearch
from tests.refusals import failing
from tests.stages.at_defaults import settings
from tests.stages.participants.builders import reference

EAST, NORTH = np.array([[1, 0], [0, 1]], dtype=np.float32)


def chunk(chunk_id: int, participant_id: int, vector: NDArray[np.float32], *, sleep: int | None = None) -> IndexedChunk:
    scores = {} if sleep is None else {PHQ8Item.SLEEP: sleep}
    return IndexedChunk(chunk_id, participant_id, chunk_id, f"chunk {chunk_id}", vector, scores)


def index() -> InMemoryReferenceSearch:
    chunks = [chunk(1, 303, EAST, sleep=2), chunk(2, 300, EAST), chunk(3, 304, -EAST, sleep=0), chunk(4, 305, NORTH)]
    return InMemoryReferenceSearch({7: chunks})


async def retrieve(
    search: ReferenceSearch,
    *items: PHQ8Item,
    left_out: Collection[int] = (300,),
    candidates: int = 50,
    tagged_only: bool = False,
) -> RetrievedReferences:
    embedded = EmbeddedEvidence(model="m", model_digest="d", dimension=2, items=items, embedding_calls=1)
    vectors = np.array([EAST] * len(items), dtype=np.float32).reshape(-1, 2)
    return await retrieve_references(
        embedded,
        vectors,
        search=search,
        index_id=7,
        left_out=left_out,
        settings=settings(ragq={"retrieve_candidates": candidates}, embedding={"enable_item_tag_filter": tagged_only}),
    )


def ids(retrieved: RetrievedReferences, item: PHQ8Item) -> list[tuple[int, float, int | None]]:
    return [(found.chunk_id, found.similarity, found.score) for found in retrieved.items[item]]


async def test_the_nearest_chunks_are_found_with_the_scores_of_the_item_in_one_round_trip() -> None:
    search = index()

    retrieved = await retrieve(search, PHQ8Item.SLEEP, PHQ8Item.TIRED)

    assert ids(retrieved, PHQ8Item.SLEEP) == [(1, 1.0, 2), (4, 0.5, None), (3, 0.0, 0)]
    assert ids(retrieved, PHQ8Item.TIRED) == [(1, 1.0, None), (4, 0.5, None), (3, 0.0, None)]
    assert (list(retrieved.items), search.round_trips) == (list(PHQ8Item), 1)


async def test_the_chunks_that_the_tag_filter_left_out_are_counted_per_item() -> None:
    tagged = replace(chunk(5, 306, EAST), tags=(PHQ8Item.SLEEP,))
    others = [replace(one, tags=(PHQ8Item.SLEEP, PHQ8Item.TIRED)) for one in index().indexes[7]]
    search = InMemoryReferenceSearch({7: [tagged, *others]})
    items = PHQ8Item.SLEEP, PHQ8Item.TIRED, PHQ8Item.MOVING

    with_filter = await retrieve(search, *items, tagged_only=True)

    # Four chunks are not of the tested participant 300.
    assert with_filter.dropped == {PHQ8Item.TIRED: {"tags": 1}, PHQ8Item.MOVING: {"tags": 4}}
    assert [len(with_filter.items[item]) for item in items] == [4, 3, 0]
    assert (await retrieve(search, *items)).dropped == {}


@pytest.mark.parametrize("leaked", [300, 305])
async def test_a_search_that_gives_somebody_whom_the_run_assesses_is_caught(leaked: int) -> None:
    class Leaky(InMemoryReferenceSearch):
        async def nearest(self, *_: object, **__: object) -> list[tuple[Reference, ...]]:
            return [(reference(chunk_id=303), reference(chunk_id=leaked))]

    with failing(FailureCategory.REFERENCE_LEAK, f"Reference index 7 returned chunks of participant {leaked}"):
        await retrieve(Leaky({7: []}), PHQ8Item.SLEEP, left_out=never_used(300, [305]))


async def test_in_an_index_of_another_data_set_the_number_of_the_tested_one_is_somebody_elses() -> None:
    own = await retrieve(index(), PHQ8Item.SLEEP, left_out=never_used(300, [305, 300, 999]))
    other = await retrieve(index(), PHQ8Item.SLEEP, left_out=never_used(None, [305]))

    assert ids(own, PHQ8Item.SLEEP) == [(1, 1.0, 2), (3, 0.0, 0)]
    assert own.excluded_participants == (300, 305, 999)
    assert {one.participant_id for one in other.items[PHQ8Item.SLEEP]} == {300, 303, 304}
    assert other.excluded_participants == (305,)


PARTICIPANTS = st.sets(st.integers(300, 320))


@given(split=PARTICIPANTS, indexed=PARTICIPANTS, tested=st.integers(300, 320), candidates=st.integers(1, 30))
async def test_no_reference_comes_from_the_own_split_of_a_run(
    split: set[int], indexed: set[int], tested: int, candidates: int
) -> None:
    rows = np.random.default_rng(7).normal(size=(400, 2)).astype(np.float32)
    search = InMemoryReferenceSearch({7: [chunk(number, number, rows[number]) for number in sorted(indexed)]})

    retrieved = await retrieve(search, *PHQ8Item, left_out=never_used(tested, split), candidates=candidates)

    allowed = indexed - split - {tested}
    found = {reference.participant_id for references in retrieved.items.values() for reference in references}
    assert found <= allowed
    assert {len(references) for references in retrieved.items.values()} == {min(candidates, len(allowed))}


def test_similarity_is_one_for_the_same_half_for_a_right_angle_and_zero_for_the_opposite() -> None:
    rows = np.array([[1, 0], [0, 1], [-1, 0], [0.6, 0.8]], dtype=np.float32)

    # (1 + 0.6) / 2 = 0.8
    assert similarities(rows, np.array([1, 0], dtype=np.float32)) == pytest.approx([1.0, 0.5, 0.0, 0.8])


def test_a_query_of_another_dimension_is_a_mismatch() -> None:
    with pytest.raises(EmbeddingDimensionMismatchError, match="of 3 dimensions, got 2"):
        similarities(np.ones((1, 3), dtype=np.float32), np.ones(2, dtype=np.float32))


def test_a_cosine_that_is_no_number_is_refused() -> None:
    with pytest.raises(EmbeddingValidationError, match="not a finite number"):
        similarities(np.array([[np.nan]], dtype=np.float32), np.array([1], dtype=np.float32))
