"""The postings of a corpus: in segments, one per batch at first, each with its chunks and rows of terms."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import log
from typing import Any, Final, TypeAlias
from zlib import crc32

import numpy as np
from asyncpg import Record
from numpy.typing import NDArray

from schemas.statuses import VectorStatus
from schemas.values.queries import Hit
from store import rows
from store.database import Connection, Lock, hold, to_numpy

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

_SECONDS: Final = 120.0

# Who takes chunks out of segments and who merges segments take turns: neither then changes a row that the other
# replaces. Who adds a segment waits for neither.

WITH_CHUNKS = """
SELECT id, chunk_ids, lengths FROM posting_segment
WHERE corpus_id = $1 AND live > 0 AND first_chunk_id <= $3 AND last_chunk_id >= $2
"""

SEGMENTS = "SELECT chunk_ids, lengths FROM posting_segment WHERE id = ANY($1::bigint[])"

COUNTED = """
SELECT c.id, t.terms, t.frequencies
FROM chunks AS c CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(lexeme), '{}') AS terms,
           coalesce(array_agg(cardinality(positions)), '{}') AS frequencies
    FROM unnest(c.content_tsvector)
) AS t
WHERE c.id = ANY($1::bigint[]) ORDER BY c.id
"""

WITHDRAW = "UPDATE posting_segment SET lengths = $2, live = live - $3 WHERE id = $1"


CountedChunk: TypeAlias = tuple[int, Sequence[str], Sequence[int]]
"""The id of a chunk, its terms, and how often each occurs: 1 to 256 times, as a tsvector keeps it."""

_Postings: TypeAlias = dict[str, tuple[bytearray, bytearray]]
"""For each term the places of its chunks in the segment, and how often each of them has it, as they are stored."""

ROW: Final = ("bucket", "terms", "ends", "places", "frequencies")


def postings_of(chunks: Iterable[CountedChunk]) -> _Postings:
    """The postings of the chunks of a segment."""
    found: defaultdict[str, tuple[bytearray, bytearray]] = defaultdict(lambda: (bytearray(), bytearray()))
    for number, (_, terms, counts) in enumerate(chunks):
        place = number.to_bytes(PLACES.itemsize, "big")
        for term, frequency in zip(terms, counts, strict=True):
            places, frequencies = found[term]
            places += place
            frequencies.append(frequency - 1)
    return found


def bucket_hash(term: str) -> int:
    """A number of 32 bits, whose remainder is the bucket of the term in a segment."""
    return crc32(term.encode())


def rows_of_terms(found: _Postings, buckets: int) -> Iterator[tuple[int, list[str], list[int], bytes, bytes]]:
    """The columns ROW of each bucket that has a term."""
    by_bucket: defaultdict[int, list[str]] = defaultdict(list)
    for term in found:
        by_bucket[bucket_hash(term) % buckets].append(term)
    for bucket, terms in sorted(by_bucket.items()):
        of_terms = [found[term] for term in terms]
        ends = list(accumulate(len(frequencies) for _, frequencies in of_terms))
        places, frequencies = (b"".join(parts) for parts in zip(*of_terms, strict=True))
        yield bucket, terms, ends, places, frequencies


async def add_segment(connection: Connection, corpus_id: int, chunks: Sequence[CountedChunk]) -> None:
    """Store the segment of up to MOST_CHUNKS chunks. Needs a transaction."""
    found = await asyncio.to_thread(postings_of, chunks)
    size = sum(
        len(term) + _TERM_BYTES + len(places) + len(frequencies) for term, (places, frequencies) in found.items()
    )
    buckets = 1 + size // _ROW_BYTES
    ids = [chunk_id for chunk_id, _, _ in chunks]
    segment_id = await rows.insert(
        connection,
        "posting_segment",
        corpus_id=corpus_id,
        chunks=len(ids),
        live=len(ids),
        first_chunk_id=min(ids),
        last_chunk_id=max(ids),
        chunk_ids=np.array(ids, IDS).tobytes(),
        lengths=np.array([sum(counts) for _, _, counts in chunks], LENGTHS).tobytes(),
        buckets=buckets,
    )
    await connection.copy_records_to_table(
        "posting",
        columns=("segment_id", *ROW),
        records=((segment_id, *row) for row in rows_of_terms(found, buckets)),
        timeout=_SECONDS,
    )


async def counted(connection: Connection, chunk_ids: Sequence[int]) -> list[CountedChunk]:
    """Chunks as their full text counts them."""
    return [
        (row["id"], row["terms"], row["frequencies"])
        for row in await connection.fetch(COUNTED, chunk_ids, timeout=_SECONDS)
    ]


async def chunks_of(connection: Connection, segment_ids: Sequence[int]) -> list[CountedChunk]:
    """The chunks of segments that can be found."""
    ids: list[int] = []
    for row in await connection.fetch(SEGMENTS, segment_ids):
        is_live = np.frombuffer(row["lengths"], LENGTHS) != WITHDRAWN
        ids += np.frombuffer(row["chunk_ids"], IDS)[is_live].tolist()
    return await counted(connection, ids)


ChunkVectors: TypeAlias = dict[int, NDArray[np.float32]]
"""One vector per chunk, by the chunk's id."""

MAKE_SEARCHABLE = f"""
WITH embedded AS (
    SELECT count(*) AS vectors FROM stage_vector WHERE attempt_id = $3
), chosen AS (
    UPDATE chunks AS c SET vector_status = '{VectorStatus.VEC}'
    FROM unnest($2::bigint[]) WITH ORDINALITY AS n (chunk_id, place), stage_vector AS v, works AS w
    WHERE c.id = n.chunk_id AND c.vector_status = '{VectorStatus.TO_VEC}' AND w.id = c.work_id AND w.corpus_id = $1
      AND v.attempt_id = $3 AND v.ordinal = n.place - 1 AND cardinality($2) = (SELECT vectors FROM embedded)
    RETURNING c.id, v.vector
), vectors AS (
    INSERT INTO chunk_vector (chunk_id, corpus_id, vector) SELECT id, $1, vector FROM chosen
)
SELECT e.vectors, c.id FROM embedded AS e LEFT JOIN chosen AS c ON true
"""

COUNT_SEARCHABLE = "UPDATE corpus SET searchable_chunks = searchable_chunks + $2 WHERE id = $1"

# The chunks first, their postings second and the corpus last, as in `make_searchable`, so that they cannot deadlock.
LOCK_CHUNKS = "SELECT FROM chunks WHERE work_id = $1 ORDER BY id FOR UPDATE"

WITHDRAW_CHUNKS = f"""
WITH gone AS (
    DELETE FROM chunk_vector AS v USING chunks AS c WHERE c.id = v.chunk_id AND c.work_id = $1
    RETURNING v.chunk_id, v.corpus_id
), waiting AS (
    UPDATE chunks AS c SET vector_status = '{VectorStatus.TO_VEC}' FROM gone AS g WHERE c.id = g.chunk_id
)
SELECT corpus_id, array_agg(chunk_id) AS chunk_ids FROM gone GROUP BY corpus_id
"""


async def make_searchable(connection: Connection, corpus_id: int, chunk_ids: Sequence[int], attempt_id: int) -> int:
    """Copy each chunk's vector from the attempt that embedded all of them, in this order; store its postings and its
    status, and count it, all or nothing. How many are new.

    Chunks that do not wait for a vector are passed over, so that the same batch may come twice; so are chunks that are
    gone and chunks of another corpus. Callers that need all of them compare the number with that of the chunks.
    """
    async with connection.transaction():
        found = await connection.fetch(MAKE_SEARCHABLE, corpus_id, list(chunk_ids), attempt_id)
        if found[0]["vectors"] != len(chunk_ids):
            raise ValueError(f"{len(chunk_ids)} chunks came with {found[0]['vectors']} vectors.")
        new = await counted(connection, [row["id"] for row in found if row["id"] is not None])
        for first in range(0, len(new), MOST_CHUNKS):
            await add_segment(connection, corpus_id, new[first : first + MOST_CHUNKS])
        if new:
            # Batches of one corpus wait for each other from here to the end of the transaction.
            await connection.execute(COUNT_SEARCHABLE, corpus_id, len(new))
    return len(new)


async def withdraw_work(connection: Connection, work_id: int) -> None:
    """Take the chunks of a work out of the search; they wait for vectors again. Needs a transaction. Deleting a work
    without it would leave its postings, and the count of its corpus too high."""
    await connection.execute(LOCK_CHUNKS, work_id)
    withdrawn = await connection.fetchrow(WITHDRAW_CHUNKS, work_id)
    if withdrawn is None:
        return
    corpus_id, chunk_ids = withdrawn["corpus_id"], withdrawn["chunk_ids"]
    await hold(connection, Lock.POSTINGS, corpus_id)
    for row in await connection.fetch(WITH_CHUNKS, corpus_id, min(chunk_ids), max(chunk_ids)):
        lengths = np.frombuffer(row["lengths"], LENGTHS).copy()
        gone = np.isin(np.frombuffer(row["chunk_ids"], IDS), chunk_ids) & (lengths != WITHDRAWN)
        if gone.any():
            lengths[gone] = WITHDRAWN
            await connection.execute(WITHDRAW, row["id"], lengths.tobytes(), int(np.count_nonzero(gone)))
    await connection.execute(COUNT_SEARCHABLE, corpus_id, -len(chunk_ids))


async def vectors(connection: Connection, chunk_ids: Sequence[int]) -> ChunkVectors:
    """The vectors of chunks, by id; chunks that have none are absent."""
    found = await rows.pairs(connection, "chunk_vector", "chunk_id", "vector", chunk_id=list(chunk_ids))
    return {chunk_id: to_numpy(vector) for chunk_id, vector in found.items()}


ASKED = """
SELECT q.ordinal - 1 AS text, t.lexeme AS term, cardinality(t.positions) AS times
FROM unnest($1::text[]) WITH ORDINALITY AS q (text, ordinal), unnest(to_tsvector($2::text::regconfig, q.text)) AS t
"""

# Each segment, with NULL as its term, and for each of them the postings of each term. OFFSET makes each row be found by
# its key, and keeps the place of a term from being computed again wherever it is used.
READ = """
SELECT s.id AS segment, NULL AS term, s.chunk_ids AS chunks, s.lengths AS counts
FROM posting_segment AS s WHERE s.corpus_id = ANY($1::bigint[])
UNION ALL
SELECT s.id, a.term, substring(p.places FROM 2 * n.start + 1 FOR 2 * (n.stop - n.start)),
       substring(p.frequencies FROM n.start + 1 FOR n.stop - n.start)
FROM posting_segment AS s CROSS JOIN unnest($2::text[], $3::bigint[]) AS a (term, hash) CROSS JOIN LATERAL (
    SELECT b.ends, b.places, b.frequencies, array_position(b.terms, a.term) AS place FROM posting AS b
    WHERE b.segment_id = s.id AND b.bucket = a.hash % s.buckets OFFSET 0
) AS p
CROSS JOIN LATERAL (SELECT coalesce(p.ends[p.place - 1], 0) AS start, p.ends[p.place] AS stop) AS n
WHERE s.corpus_id = ANY($1::bigint[]) AND p.place IS NOT NULL
"""

AskedTerms: TypeAlias = list[dict[str, int]]
"""For each text, how often it has each term."""

_ByTerm: TypeAlias = Mapping[str, tuple[NDArray[np.int64], NDArray[np.floating[Any]]]]
"""For each term the places of its chunks, and a number for each of them."""


async def asked_terms(connection: Connection, texts: Sequence[str], *, full_text: str) -> AskedTerms:
    """The terms of texts, as a text search configuration reads them."""
    terms: AskedTerms = [{} for _ in texts]
    for row in await connection.fetch(ASKED, list(texts), full_text):
        terms[row["text"]][row["term"]] = row["times"]
    return terms


def best(
    rows: Sequence[Record], asked: AskedTerms, *, k1: float, b: float, limit: int, among: Sequence[int] | None = None
) -> list[list[Hit]]:
    """For each text the best chunks of what READ found, of `among` alone where it is given: score down, ties by id."""
    segments = {row["segment"]: row for row in rows if row["term"] is None}
    chunk_ids = np.frombuffer(b"".join(row["chunks"] for row in segments.values()), IDS).astype(np.int64)
    lengths = np.frombuffer(b"".join(row["counts"] for row in segments.values()), LENGTHS).astype(np.int64)
    live = lengths != WITHDRAWN
    count = int(np.count_nonzero(live))
    mean_length = int(lengths[live].sum()) / max(count, 1)
    if not mean_length:
        return [[] for _ in asked]
    allowed = live if among is None else live & np.isin(chunk_ids, among)
    norms = k1 * (1 - b + b * lengths / mean_length)
    weighted = {}
    for term, (places, frequencies) in _by_term(rows, segments, live).items():
        holding = len(places)
        idf = log(1 + (count - holding + 0.5) / (holding + 0.5))
        weighted[term] = places, idf * frequencies / (frequencies + norms[places])
    return [_ranked(chunk_ids, allowed, terms, weighted, limit) for terms in asked]


def _by_term(rows: Sequence[Record], segments: Mapping[int, Record], live: NDArray[np.bool_]) -> _ByTerm:
    """The frequencies of the terms that some chunk has."""
    chunks = [len(segment["chunks"]) // IDS.itemsize for segment in segments.values()]
    firsts = dict(zip(segments, accumulate(chunks, initial=0), strict=False))
    parts: dict[str, list[Record]] = {}
    for row in rows:
        if row["term"] is not None:
            parts.setdefault(row["term"], []).append(row)
    is_whole = bool(live.all())
    found = {}
    for term, of_term in parts.items():
        places = np.frombuffer(b"".join(row["chunks"] for row in of_term), PLACES).astype(np.int64)
        places += np.repeat([firsts[row["segment"]] for row in of_term], [len(row["counts"]) for row in of_term])
        frequencies = np.frombuffer(b"".join(row["counts"] for row in of_term), FREQUENCIES) + 1.0
        kept = slice(None) if is_whole else live[places]
        found[term] = places[kept], frequencies[kept]
    return found


def _ranked(
    chunk_ids: NDArray[np.int64], allowed: NDArray[np.bool_], terms: Mapping[str, int], weighted: _ByTerm, limit: int
) -> list[Hit]:
    units = np.zeros(len(chunk_ids))
    is_found = np.zeros(len(chunk_ids), dtype=bool)
    for term, times in terms.items():
        if term in weighted:
            places, weights = weighted[term]
            units[places] += np.rint(times * weights * 1e10)
            is_found[places] = True
    places = np.flatnonzero(is_found & allowed)
    if len(places) > limit:
        # All that are as good as the last one: ids decide among them.
        of_found = units[places]
        places = places[of_found >= np.partition(of_found, len(places) - limit)[len(places) - limit]]
    order = np.lexsort((chunk_ids[places], -units[places]))[:limit]
    return [(int(chunk_ids[place]), float(units[place] / 1e10)) for place in places[order]]
