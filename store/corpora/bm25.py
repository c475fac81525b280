"""BM25 over the postings of corpora, as if they were one: every posting of the terms of a text, none approximated.

Okapi BM25 with Lucene's idf, ln(1 + (N - n + 0.5) / (n + 0.5)), and without the constant factor k1 + 1. A term that
occurs twice in the text counts twice. The summands are whole numbers of 1e-10, so that chunks of the same words get the
same score whatever order they are added in.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import log
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from schemas.values.queries import Hit
from store.corpora.postings import FREQUENCIES, IDS, LENGTHS, PLACES, WITHDRAWN
from store.database import Connection

ASKED = """
SELECT q.ordinal - 1 AS text, t.lexeme AS term, cardinality(t.positions) AS times
FROM unnest($1::text[]) WITH ORDINALITY AS q (text, ordinal), unnest(to_tsvector($2::text::regconfig, q.text)) AS t
"""

# Each segment, and for each of them the postings of each term. OFFSET makes each row be found by its key, and keeps the
# place of a term from being computed again wherever it is used.
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


class Found(NamedTuple):
    """Rows of READ: a segment's number, a term or None, and two columns of numbers."""

    segment: int
    term: str | None
    chunks: bytes
    counts: bytes


async def asked_terms(connection: Connection, texts: Sequence[str], *, full_text: str) -> AskedTerms:
    """The terms of texts, as a text search configuration reads them."""
    terms: AskedTerms = [{} for _ in texts]
    for row in await connection.fetch(ASKED, list(texts), full_text):
        terms[row["text"]][row["term"]] = row["times"]
    return terms


def best(
    rows: Sequence[Found],
    asked: AskedTerms,
    *,
    k1: float,
    b: float,
    limit: int,
    among: Sequence[int] | None = None,
) -> list[list[Hit]]:
    """For each text the best chunks, of `among` alone where it is given: score down, ties by chunk id."""
    segments = {row.segment: row for row in rows if row.term is None}
    chunk_ids = np.frombuffer(b"".join(row.chunks for row in segments.values()), IDS).astype(np.int64)
    lengths = np.frombuffer(b"".join(row.counts for row in segments.values()), LENGTHS).astype(np.int64)
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


def _by_term(rows: Sequence[Found], segments: Mapping[int, Found], live: NDArray[np.bool_]) -> _ByTerm:
    """The frequencies of the terms that some chunk has."""
    chunks = [len(segment.chunks) // IDS.itemsize for segment in segments.values()]
    firsts = dict(zip(segments, accumulate(chunks, initial=0), strict=False))
    parts: dict[str, list[Found]] = {}
    for row in rows:
        if row.term is not None:
            parts.setdefault(row.term, []).append(row)
    is_whole = bool(live.all())
    found = {}
    for term, of_term in parts.items():
        places = np.frombuffer(b"".join(row.chunks for row in of_term), PLACES).astype(np.int64)
        places += np.repeat([firsts[row.segment] for row in of_term], [len(row.counts) for row in of_term])
        frequencies = np.frombuffer(b"".join(row.counts for row in of_term), FREQUENCIES) + 1.0
        kept = slice(None) if is_whole else live[places]
        found[term] = places[kept], frequencies[kept]
    return found


def _ranked(
    chunk_ids: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    terms: Mapping[str, int],
    weighted: _ByTerm,
    limit: int,
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
    return [Hit(chunk_id=int(chunk_ids[place]), score=float(units[place] / 1e10)) for place in places[order]]
