"""Postings are the ones that were counted, in bytes, after merges, and together with vectors and counts."""

from collections.abc import Sequence

import asyncpg
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.corpora import postings
from store.corpora.postings import MOST_CHUNKS, PLACES, CountedChunk
from store.database import Connection
from tests.store.small_corpora import SearchableChunk, embed_and_publish, embedded, store_corpus, store_waiting
from tests.store.small_corpora import postings as stored_postings

Posting = tuple[int, str, int]

COUNTED = st.lists(
    st.dictionaries(st.text("abcé\U0001f375ÿ", min_size=1, max_size=3), st.integers(1, 256), max_size=8), max_size=12
)


def counted(chunks: Sequence[dict[str, int]], first_id: int = 1) -> list[CountedChunk]:
    return [(first_id + 4 * number, list(chunk), list(chunk.values())) for number, chunk in enumerate(chunks)]


def listed(chunks: Sequence[CountedChunk]) -> list[Posting]:
    return sorted((id_, *posting) for id_, *counts in chunks for posting in zip(*counts, strict=True))


def unpacked(chunks: Sequence[CountedChunk], *, buckets: int = 3) -> list[Posting]:
    """The postings of a segment of these chunks as they are in its rows."""
    found: list[Posting] = []
    for bucket, terms, ends, places, frequencies in postings.rows_of_terms(postings.postings_of(chunks), buckets):
        assert all(postings.bucket_hash(term) % buckets == bucket for term in terms)
        of_terms = [term for term, count in zip(terms, np.diff(ends, prepend=0), strict=True) for _ in range(count)]
        ids = [chunks[place][0] for place in np.frombuffer(places, PLACES)]
        found += zip(ids, of_terms, [frequency + 1 for frequency in frequencies], strict=True)
    return sorted(found)


@given(COUNTED)
def test_a_segment_has_the_postings_of_its_chunks(chunks: list[dict[str, int]]) -> None:
    assert unpacked(counted(chunks)) == listed(counted(chunks))


@pytest.mark.parametrize("count", [257, MOST_CHUNKS])
def test_a_place_has_room_for_every_chunk(count: int) -> None:
    chunks = counted([{"m": 1 + n % 256, f"z{n % 700}": 2} for n in range(count)])

    assert unpacked(chunks) == listed(chunks)


EAST, NORTH = np.array([[1, 0], [0, 1]], dtype=np.float32)
CHUNKS = [
    SearchableChunk(1, "Tea and more tea in the teapot", EAST, "Drinks"),
    SearchableChunk(2, "Bridges of stone", NORTH),
    SearchableChunk(3, "and of the", NORTH),
]


async def count(connection: Connection, corpus_id: int) -> int:
    found: int = await connection.fetchval("SELECT searchable_chunks FROM corpus WHERE id = $1", corpus_id)
    return found


async def test_a_searchable_chunk_has_a_vector_postings_and_a_place_in_the_counts_once(connection: Connection) -> None:
    corpus_id = await store_corpus(connection, CHUNKS)
    assert await embed_and_publish(connection, corpus_id, [1, 2], [NORTH, NORTH]) == 0

    of_first = [(1, "drink", 1, 4), (1, "tea", 2, 4), (1, "teapot", 1, 4)]
    assert await stored_postings(connection) == [*of_first, (2, "bridg", 1, 2), (2, "stone", 1, 2)]
    assert await count(connection, corpus_id) == 3
    vectors = await connection.fetch(
        "SELECT vector FROM chunk_vector WHERE corpus_id = $1 ORDER BY chunk_id", corpus_id
    )
    assert [row["vector"].to_list() for row in vectors] == [chunk.vector.tolist() for chunk in CHUNKS]
    assert await connection.fetchval("SELECT array_agg(DISTINCT vector_status) FROM chunks") == ["vec"]


async def test_a_batch_that_fails_leaves_nothing(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus_id = await store_waiting(connection, CHUNKS)
    attempt_id = await embedded(connection, [chunk.vector for chunk in CHUNKS])
    with monkeypatch.context() as patched:
        patched.setattr(postings, "COUNT_SEARCHABLE", "SELECT 1 / (0 * ($1::int + $2::int))")
        with pytest.raises(asyncpg.DivisionByZeroError):
            await postings.make_searchable(connection, corpus_id, [1, 2, 3], attempt_id)

    assert (await stored_postings(connection), await count(connection, corpus_id)) == ([], 0)
    assert await connection.fetchval("SELECT count(*) FROM chunk_vector") == 0
    assert await postings.make_searchable(connection, corpus_id, [1, 2, 3], attempt_id) == 3
