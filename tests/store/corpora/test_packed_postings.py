"""Packed postings are the ones that were packed, in rows that Postgres keeps as they are."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.corpora import packed_postings
from store.corpora.packed_postings import IDS, LENGTHS, MOST_CHUNKS, WITHDRAWN, Block, CountedChunk, Segment

Posting = tuple[int, str, int]

COUNTED = st.lists(
    st.dictionaries(st.text("abcé\U0001f375ÿ", min_size=1, max_size=3), st.integers(1, 256), max_size=8), max_size=12
)


def counted(chunks: Sequence[dict[str, int]], first_id: int = 1) -> list[CountedChunk]:
    return [
        CountedChunk(first_id + 4 * number, list(chunk), list(chunk.values())) for number, chunk in enumerate(chunks)
    ]


def listed(chunks: Sequence[CountedChunk]) -> set[Posting]:
    return {(c.id, *posting) for c in chunks for posting in zip(c.terms, c.frequencies, strict=True)}


def unpacked(segment: Segment) -> set[Posting]:
    """The postings, read from the blocks as a search reads them: each term on its own."""
    rows = list(packed_postings.blocks(segment))
    assert [(row.first_term, row.part) for row in rows] == sorted((row.first_term, row.part) for row in rows)
    found = set()
    for term in segment.terms:
        begin = max(row.first_term for row in rows if row.first_term <= term)
        for row in rows:
            if row.first_term == begin:
                place = row.terms.index(term)
                start, stop = ([0, *row.ends])[place : place + 2]
                for n in range(start, stop):
                    chunk = int.from_bytes(row.places[2 * n : 2 * n + 2], "big")
                    found.add((int(segment.chunk_ids[chunk]), term, row.frequencies[n] + 1))
    return found


def stored(segment: Segment) -> Segment:
    """The segment after it was in Postgres."""
    return packed_postings.of_blocks(
        segment.chunk_ids.astype(IDS).tobytes(),
        segment.lengths.astype(LENGTHS).tobytes(),
        list(packed_postings.blocks(segment)),
    )


def assert_same(left: Segment, right: Segment) -> None:
    assert left.terms == right.terms
    for name in ("chunk_ids", "lengths", "keys"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name))


def long_and_short(count: int) -> list[CountedChunk]:
    """Chunks that all have one term in the middle of the alphabet, and each some of their own."""
    return counted([{"mm": 1 + n % 256, f"a{n}": 1, f"z{n % 700}": 2, "mn": 256} for n in range(count)])


@given(COUNTED)
def test_what_is_packed_is_read_again(chunks: list[dict[str, int]]) -> None:
    segment = packed_postings.of_chunks(counted(chunks))

    assert unpacked(segment) == listed(counted(chunks))
    assert segment.lengths.tolist() == [sum(chunk.values()) for chunk in chunks]
    assert_same(stored(segment), segment)


@pytest.mark.parametrize("count", [1, 600, 601, 2000, MOST_CHUNKS])
def test_frequent_terms_have_blocks_of_their_own(count: int) -> None:
    chunks = long_and_short(count)
    segment = packed_postings.of_chunks(chunks)

    rows = list(packed_postings.blocks(segment))

    assert unpacked(segment) == listed(chunks)
    assert_same(stored(segment), segment)
    assert max(map(size, rows)) <= 2000
    assert {tuple(row.terms) for row in rows if row.part} == ({("mm",), ("mn",)} if count > 600 else set())


def size(row: Block) -> int:
    """The bytes of a row in Postgres, about."""
    terms = sum(4 + -(-len(term.encode()) // 4) * 4 for term in row.terms)
    return 120 + len(row.first_term) + terms + 2 * len(row.ends) + len(row.places) + len(row.frequencies)


@given(st.lists(st.tuples(COUNTED, st.sets(st.integers(0, 11))), min_size=1, max_size=4))
def test_merged_segments_are_the_segment_of_the_chunks_that_are_left(
    parts: list[tuple[list[dict[str, int]], set[int]]],
) -> None:
    segments, left = [], []
    for number, (chunks, withdrawn) in enumerate(parts):
        # Ids of the parts alternate, as those of imports side by side do.
        of_part = counted(chunks, first_id=number)
        segment = packed_postings.of_chunks(of_part)
        segment.lengths[[place for place in withdrawn if place < len(chunks)]] = WITHDRAWN
        segments.append(stored(segment))
        left += [chunk for place, chunk in enumerate(of_part) if place not in withdrawn]

    merged = packed_postings.merged(segments)

    assert_same(merged, packed_postings.of_chunks(sorted(left)))
