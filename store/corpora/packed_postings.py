"""Postings in packed form: how often each term occurs in each chunk of a segment, in blocks that fit into rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from operator import ne
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

MOST_CHUNKS: Final = 1 << 14
"""Chunks of one segment at most: what merging holds in memory, and a chunk's place takes two bytes."""

WITHDRAWN: Final = -1
"""The length of a chunk that can no longer be found."""

IDS: Final = np.dtype(">i8")
LENGTHS: Final = np.dtype(">i4")
PLACES: Final = np.dtype(">i2")
FREQUENCIES: Final = np.dtype("u1")

# Postgres keeps a row of up to 2,000 bytes as it is; of longer ones it compresses columns and stores them apart.
_BLOCK_BYTES = 1800
_POSTING_BYTES = PLACES.itemsize + FREQUENCIES.itemsize
_TERM_BYTES = 10
_BLOCK_POSTINGS = _BLOCK_BYTES // _POSTING_BYTES

_FREQUENCY_BITS = 8
_TERM_SHIFT = _FREQUENCY_BITS + 14

Terms: TypeAlias = list[str]


class CountedChunk(NamedTuple):
    """The terms of a chunk and how often each occurs: 1 to 256 times, as a tsvector keeps it."""

    id: int
    terms: Sequence[str]
    frequencies: Sequence[int]


class Block(NamedTuple):
    """A row of postings: those of several terms, or a part of those of one frequent term."""

    first_term: str
    part: int
    terms: Terms
    ends: list[int]
    """For each term, the end of its postings; they begin where those of the term before end."""
    places: bytes
    """The places of the chunks in the segment."""
    frequencies: bytes
    """Each less one."""


@dataclass(frozen=True)
class Segment:
    """The postings of up to MOST_CHUNKS chunks."""

    chunk_ids: NDArray[np.int64]
    """Ascending."""
    lengths: NDArray[np.int32]
    """Terms of each chunk, with repetitions, or WITHDRAWN."""
    terms: Terms
    """In the order of their code points, which is Postgres's collation "C"."""
    keys: NDArray[np.int64]
    """The postings, ascending: the place of a term, that of a chunk, and the frequency less one, in one number."""

    @property
    def live(self) -> int:
        """Chunks that can be found."""
        return int(np.count_nonzero(self.lengths != WITHDRAWN))


def of_chunks(chunks: Sequence[CountedChunk]) -> Segment:
    """The segment of chunks, which come in the order of their ids."""
    terms = sorted(set(chain.from_iterable(chunk.terms for chunk in chunks)))
    number = {term: place for place, term in enumerate(terms)}
    distinct = np.array([len(chunk.terms) for chunk in chunks], dtype=np.int64)
    all_terms = chain.from_iterable(chunk.terms for chunk in chunks)
    numbers = np.fromiter(map(number.__getitem__, all_terms), dtype=np.int64, count=distinct.sum())
    frequencies = np.fromiter(chain.from_iterable(chunk.frequencies for chunk in chunks), dtype=np.int64)
    keys = _keys(numbers, np.repeat(np.arange(len(chunks)), distinct), frequencies - 1)
    keys.sort()
    return Segment(
        chunk_ids=np.array([chunk.id for chunk in chunks], dtype=np.int64),
        lengths=np.array([sum(chunk.frequencies) for chunk in chunks], dtype=np.int32),
        terms=terms,
        keys=keys,
    )


def of_blocks(chunk_ids: bytes, lengths: bytes, blocks: Sequence[Block]) -> Segment:
    """A stored segment; its blocks come in their order."""
    terms: Terms = []
    numbers = []
    for block in blocks:
        if not block.part:
            terms += block.terms
        numbers.append(np.repeat(np.arange(len(terms) - len(block.terms), len(terms)), np.diff(block.ends, prepend=0)))
    places = np.frombuffer(b"".join(block.places for block in blocks), PLACES).astype(np.int64)
    frequencies = np.frombuffer(b"".join(block.frequencies for block in blocks), FREQUENCIES).astype(np.int64)
    return Segment(
        chunk_ids=np.frombuffer(chunk_ids, IDS).astype(np.int64),
        lengths=np.frombuffer(lengths, LENGTHS).astype(np.int32),
        terms=terms,
        keys=_keys(np.concatenate([np.zeros(0, np.int64), *numbers]), places, frequencies),
    )


def merged(segments: Sequence[Segment]) -> Segment:
    """One segment of the chunks of several that can be found. Together they are at most MOST_CHUNKS."""
    live = [segment.lengths != WITHDRAWN for segment in segments]
    chunk_ids = np.concatenate([segment.chunk_ids[kept] for segment, kept in zip(segments, live, strict=True)])
    lengths = np.concatenate([segment.lengths[kept] for segment, kept in zip(segments, live, strict=True)])
    order = np.argsort(chunk_ids)
    place_of = np.empty_like(order)
    place_of[order] = np.arange(len(order))
    terms, numbers = _joined_terms([segment.terms for segment in segments])
    parts, first = [], 0
    for segment, kept, new_numbers in zip(segments, live, numbers, strict=True):
        new_places = np.full(len(kept), -1)
        new_places[kept] = place_of[first : first + segment.live]
        first += segment.live
        places = new_places[_places(segment.keys)]
        keys = _keys(new_numbers[segment.keys >> _TERM_SHIFT], places, segment.keys & 0xFF)
        parts.append(keys[places >= 0])
    keys = np.concatenate(parts)
    keys.sort()
    return _without_empty_terms(Segment(chunk_ids[order], lengths[order], terms, keys))


def blocks(segment: Segment) -> Iterator[Block]:
    """The rows of a segment, in their order.

    A term is in one block alone, or has blocks of its own; blocks of several terms never reach across a term that has
    blocks of its own. So the last block that begins at or before a term, and those that begin with the same term, have
    all of its postings.
    """
    counts = np.bincount(segment.keys >> _TERM_SHIFT, minlength=len(segment.terms))
    ends = np.concatenate([[0], np.cumsum(counts)])
    places = _places(segment.keys).astype(PLACES).tobytes()
    frequencies = (segment.keys & 0xFF).astype(FREQUENCIES).tobytes()
    lengths = np.fromiter(map(len, map(str.encode, segment.terms)), dtype=np.int64, count=len(segment.terms))
    sizes = np.concatenate([[0], np.cumsum(_POSTING_BYTES * counts + lengths + _TERM_BYTES)])
    frequent = np.append(np.flatnonzero(counts > _BLOCK_POSTINGS), len(segment.terms))

    def block(first: int, last: int, start: int, end: int, part: int = 0) -> Block:
        return Block(
            segment.terms[first],
            part,
            segment.terms[first:last],
            (np.minimum(ends[first + 1 : last + 1], end) - start).tolist(),
            places[PLACES.itemsize * start : PLACES.itemsize * end],
            frequencies[start:end],
        )

    first = 0
    for stop in frequent.tolist():
        while first < stop:
            fitting = int(np.searchsorted(sizes, sizes[first] + _BLOCK_BYTES, side="right")) - 1
            last = min(max(fitting, first + 1), stop)
            yield block(first, last, int(ends[first]), int(ends[last]))
            first = last
        if stop < len(segment.terms):
            end = int(ends[stop + 1])
            for part, start in enumerate(range(int(ends[stop]), end, _BLOCK_POSTINGS)):
                yield block(stop, stop + 1, start, min(start + _BLOCK_POSTINGS, end), part)
            first = stop + 1


def _joined_terms(sorted_lists: Sequence[Terms]) -> tuple[Terms, list[NDArray[np.int64]]]:
    """All terms, and for each list the place that each of its terms has among them."""
    listed = list(chain.from_iterable(sorted_lists))
    # Sorting merges runs that are sorted, with fewer comparisons than looking each term up would take.
    order = sorted(range(len(listed)), key=listed.__getitem__)
    ordered = [listed[place] for place in order]
    is_new = np.fromiter(map(ne, ordered, chain([None], ordered)), dtype=bool, count=len(ordered))
    numbers = np.empty(len(listed), dtype=np.int64)
    numbers[order] = np.cumsum(is_new) - 1
    stops = np.cumsum([len(terms) for terms in sorted_lists])
    return list(compress(ordered, is_new.tolist())), np.split(numbers, stops[:-1])


def _keys(numbers: NDArray[np.int64], places: NDArray[np.int64], less_one: NDArray[np.int64]) -> NDArray[np.int64]:
    return (numbers << _TERM_SHIFT) | (places << _FREQUENCY_BITS) | less_one


def _places(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    return (keys >> _FREQUENCY_BITS) & (MOST_CHUNKS - 1)


def _without_empty_terms(segment: Segment) -> Segment:
    numbers = segment.keys >> _TERM_SHIFT
    has_postings = np.bincount(numbers, minlength=len(segment.terms)) > 0
    new_numbers = np.cumsum(has_postings) - 1
    keys = segment.keys + ((new_numbers[numbers] - numbers) << _TERM_SHIFT)
    return Segment(segment.chunk_ids, segment.lengths, list(compress(segment.terms, has_postings.tolist())), keys)
