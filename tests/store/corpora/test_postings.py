"""Postings are the ones that were counted, in bytes, after merges, and together with vectors and counts."""

from collections.abc import Sequence

import asyncpg
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.corpora import postings
from store.corpora.postings import IDS, LENGTHS, MOST_CHUNKS, WITHDRAWN, CountedChunk, Segment
from store.database import Connection
from tests.store.small_corpora import SearchableChunk, embed_and_publish, embedded, store_corpus, store_waiting
from tests.store.small_corpora import postings as stored_postings

Posting = tuple[int, str, int]

COUNTED = st.lists(
    st.dictionaries(st.text("abcé\U0001f375ÿ", min_size=1, max_size=3), st.integers(1, 256), max_size=8), max_size=12
)


def counted(chunks: Sequence[dict[str, int]], first_id: int = 1) -> list[CountedChunk]:
    return [
        CountedChunk(first_id + 4 * number, list(chunk), list(chunk.values())) for number, chunk in enumerate(chunks)
    ]


def listed(chunks: Sequence[CountedChunk]) -> list[Posting]:
    return sorted((c.id, *posting) for c in chunks for posting in zip(c.terms, c.frequencies, strict=True))


def stored(segment: Segment, *, buckets: int = 3) -> Segment:
    """The segment after it was in Postgres."""
    rows = list(postings.rows(segment, buckets))
    assert all(postings.bucket_hash(term) % buckets == row.bucket for row in rows for term in row.terms)
    return postings.of_rows(segment.chunk_ids.astype(IDS).tobytes(), segment.lengths.astype(LENGTHS).tobytes(), rows)


def unpacked(segment: Segment) -> list[Posting]:
    terms = np.repeat(np.array(segment.terms, dtype=object), np.diff(segment.ends, prepend=0))
    chunk_ids = segment.chunk_ids[segment.places].tolist()
    return sorted(zip(chunk_ids, terms, (segment.frequencies.astype(int) + 1).tolist(), strict=True))


@given(COUNTED)
def test_a_segment_has_the_postings_of_its_chunks(chunks: list[dict[str, int]]) -> None:
    segment = postings.of_chunks(counted(chunks))

    assert unpacked(stored(segment)) == listed(counted(chunks))
    assert segment.lengths.tolist() == [sum(chunk.values()) for chunk in chunks]


@pytest.mark.parametrize("count", [257, MOST_CHUNKS])
def test_a_place_has_room_for_every_chunk(count: int) -> None:
    chunks = counted([{"m": 1 + n % 256, f"z{n % 700}": 2} for n in range(count)])

    assert unpacked(stored(postings.of_chunks(chunks))) == listed(chunks)


@given(st.lists(st.tuples(COUNTED, st.sets(st.integers(0, 11))), min_size=1, max_size=4))
def test_merged_segments_are_the_segment_of_the_chunks_left(parts: list[tuple[list[dict[str, int]], set[int]]]) -> None:
    segments, left = [], []
    for number, (chunks, withdrawn) in enumerate(parts):
        # Ids of the parts alternate, as those of imports side by side do.
        of_part = counted(chunks, first_id=number)
        segment = postings.of_chunks(of_part)
        segment.lengths[[place for place in withdrawn if place < len(chunks)]] = WITHDRAWN
        segments.append(stored(segment))
        left += [chunk for place, chunk in enumerate(of_part) if place not in withdrawn]

    merged = postings.merged(segments)

    assert unpacked(stored(merged)) == listed(left)
    assert merged.chunk_ids.tolist() == [chunk.id for chunk in left]
    assert merged.lengths.tolist() == [sum(chunk.frequencies) for chunk in left]
    assert set(stored(merged).terms) == {term for chunk in left for term in chunk.terms}


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
