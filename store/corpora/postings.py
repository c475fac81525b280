"""The postings of a corpus: in segments, one per batch at first, each with its chunks and rows of terms."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from store.database import Connection
from store.locks import Lock, hold

MOST_CHUNKS: Final = 1 << 14
"""Chunks of one segment at most: what merging holds in memory, and a chunk's place takes two bytes."""

WITHDRAWN: Final = -1
"""The length of a chunk that can no longer be found."""

IDS: Final = np.dtype(">i8")
LENGTHS: Final = np.dtype(">i4")
PLACES: Final = np.dtype(">i2")
FREQUENCIES: Final = np.dtype("u1")

# One row for each term would take three times the room: most terms are in one chunk or two.
_ROW_BYTES: Final = 1000
_TERM_BYTES: Final = 10
_POSTING_BYTES: Final = PLACES.itemsize + FREQUENCIES.itemsize

_SECONDS: Final = 120.0

ADD = """
INSERT INTO posting_segment (corpus_id, chunks, live, first_chunk_id, last_chunk_id, chunk_ids, lengths, buckets)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id
"""

# Who takes chunks out of segments and who merges segments take turns: neither then changes a row that the other
# replaces. Who adds a segment waits for neither.

WITH_CHUNKS = """
SELECT id, chunk_ids, lengths FROM posting_segment
WHERE corpus_id = $1 AND live > 0 AND first_chunk_id <= $3 AND last_chunk_id >= $2
"""

WITHDRAW = "UPDATE posting_segment SET lengths = $2, live = live - $3 WHERE id = $1"


class CountedChunk(NamedTuple):
    """The terms of a chunk and how often each occurs: 1 to 256 times, as a tsvector keeps it."""

    id: int
    terms: Sequence[str]
    frequencies: Sequence[int]


class Row(NamedTuple):
    """The postings of the terms of one bucket."""

    bucket: int
    terms: list[str]
    ends: list[int]
    """For each term, the end of its postings; they begin where those of the term before end."""
    places: bytes
    """Of each posting, the place of its chunk in the segment."""
    frequencies: bytes
    """Of each posting, how often the chunk has the term, less one."""


@dataclass(frozen=True)
class Segment:
    """The postings of up to MOST_CHUNKS chunks."""

    chunk_ids: NDArray[np.int64]
    lengths: NDArray[np.int32]
    """Terms of each chunk, with repetitions, or WITHDRAWN."""
    terms: list[str]
    ends: NDArray[np.int64]
    """As in a row; so are the other two."""
    places: NDArray[np.int64]
    frequencies: NDArray[np.uint8]

    @property
    def live(self) -> int:
        """Chunks that can be found."""
        return int(np.count_nonzero(self.lengths != WITHDRAWN))


def of_chunks(chunks: Sequence[CountedChunk]) -> Segment:
    """The segment of chunks."""
    number: dict[str, int] = {}
    return _segment(
        np.array([chunk.id for chunk in chunks], dtype=np.int64),
        np.array([sum(chunk.frequencies) for chunk in chunks], dtype=np.int32),
        number,
        _numbered(chain.from_iterable(chunk.terms for chunk in chunks), number),
        np.repeat(np.arange(len(chunks)), [len(chunk.terms) for chunk in chunks]),
        np.fromiter((frequency - 1 for chunk in chunks for frequency in chunk.frequencies), dtype=np.uint8),
    )


def of_rows(chunk_ids: bytes, lengths: bytes, rows: Sequence[Row]) -> Segment:
    """A stored segment."""
    counts = [np.diff(row.ends, prepend=0) for row in rows]
    return Segment(
        chunk_ids=np.frombuffer(chunk_ids, IDS).astype(np.int64),
        lengths=np.frombuffer(lengths, LENGTHS).astype(np.int32),
        terms=[term for row in rows for term in row.terms],
        ends=np.cumsum(np.concatenate([np.zeros(0, np.int64), *counts])),
        places=np.frombuffer(b"".join(row.places for row in rows), PLACES).astype(np.int64),
        frequencies=np.frombuffer(b"".join(row.frequencies for row in rows), FREQUENCIES),
    )


def merged(segments: Sequence[Segment]) -> Segment:
    """One segment of the chunks of several that can be found. Together they are at most MOST_CHUNKS."""
    live = [segment.lengths != WITHDRAWN for segment in segments]
    number: dict[str, int] = {}
    first = 0
    numbers, places, frequencies = [], [], []
    for segment, is_live in zip(segments, live, strict=True):
        kept = is_live[segment.places]
        of_terms = _numbered(segment.terms, number)
        numbers.append(np.repeat(of_terms, np.diff(segment.ends, prepend=0))[kept])
        places.append((first + np.cumsum(is_live) - 1)[segment.places[kept]])
        frequencies.append(segment.frequencies[kept])
        first += segment.live
    return _segment(
        np.concatenate([segment.chunk_ids[kept] for segment, kept in zip(segments, live, strict=True)]),
        np.concatenate([segment.lengths[kept] for segment, kept in zip(segments, live, strict=True)]),
        number,
        *map(np.concatenate, (numbers, places, frequencies)),
    )


def bucket_hash(term: str) -> int:
    """A number of 32 bits, whose remainder is the bucket of the term in a segment."""
    return crc32(term.encode())


def rows(segment: Segment, buckets: int) -> Iterator[Row]:
    """The rows of a segment; terms that no chunk has are in none."""
    by_bucket: defaultdict[int, list[tuple[str, int, int]]] = defaultdict(list)
    ends = segment.ends.tolist()
    for term, start, end in zip(segment.terms, [0, *ends], ends, strict=False):
        if start < end:
            by_bucket[bucket_hash(term) % buckets].append((term, start, end))
    places, frequencies = segment.places.astype(PLACES).tobytes(), segment.frequencies.tobytes()
    for bucket, found in sorted(by_bucket.items()):
        yield Row(
            bucket,
            [term for term, _, _ in found],
            list(accumulate(end - start for _, start, end in found)),
            b"".join(places[PLACES.itemsize * start : PLACES.itemsize * end] for _, start, end in found),
            b"".join(frequencies[start:end] for _, start, end in found),
        )


async def add(connection: Connection, corpus_id: int, chunks: Sequence[CountedChunk]) -> int:
    """Store the postings of chunks. The sum of their lengths."""
    length = 0
    for first in range(0, len(chunks), MOST_CHUNKS):
        segment = of_chunks(chunks[first : first + MOST_CHUNKS])
        await add_segment(connection, corpus_id, segment)
        length += int(segment.lengths.sum())
    return length


async def add_segment(connection: Connection, corpus_id: int, segment: Segment) -> None:
    """Store a segment that has chunks. Needs a transaction."""
    size = sum(map(len, segment.terms)) + _TERM_BYTES * len(segment.terms) + _POSTING_BYTES * len(segment.places)
    buckets = 1 + size // _ROW_BYTES
    segment_id = await connection.fetchval(
        ADD,
        corpus_id,
        len(segment.chunk_ids),
        segment.live,
        int(segment.chunk_ids.min()),
        int(segment.chunk_ids.max()),
        segment.chunk_ids.astype(IDS).tobytes(),
        segment.lengths.astype(LENGTHS).tobytes(),
        buckets,
    )
    await connection.copy_records_to_table(
        "posting",
        columns=("segment_id", *Row._fields),
        records=((segment_id, *row) for row in rows(segment, buckets)),
        timeout=_SECONDS,
    )


async def withdraw(connection: Connection, corpus_id: int, chunk_ids: Sequence[int]) -> int:
    """Take chunks out of the postings. The sum of their lengths. Needs a transaction."""
    if not chunk_ids:
        return 0
    await hold(connection, Lock.POSTINGS, corpus_id)
    withdrawn = 0
    for row in await connection.fetch(WITH_CHUNKS, corpus_id, min(chunk_ids), max(chunk_ids)):
        lengths = np.frombuffer(row["lengths"], LENGTHS).copy()
        gone = np.isin(np.frombuffer(row["chunk_ids"], IDS), chunk_ids) & (lengths != WITHDRAWN)
        if gone.any():
            withdrawn += int(lengths[gone].sum())
            lengths[gone] = WITHDRAWN
            await connection.execute(WITHDRAW, row["id"], lengths.tobytes(), int(np.count_nonzero(gone)))
    return withdrawn


def _numbered(terms: Iterable[str], number: dict[str, int]) -> NDArray[np.int64]:
    """The number of each term; new ones get the next."""
    return np.fromiter((number.setdefault(term, len(number)) for term in terms), dtype=np.int64)


def _segment(
    chunk_ids: NDArray[np.int64],
    lengths: NDArray[np.int32],
    terms: Iterable[str],
    numbers: NDArray[np.int64],
    places: NDArray[np.int64],
    frequencies: NDArray[np.uint8],
) -> Segment:
    """A segment of postings by the numbers of their terms; those of a term stay in their order."""
    terms = list(terms)
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers, minlength=len(terms)))
    return Segment(chunk_ids, lengths, terms, ends, places[order], frequencies[order])
