"""The postings of chunks that can be found, read from the columns of bytes number by number."""

from typing import Any

from store.database import Connection

#: One row per chunk and term, of all corpora.
POSTINGS = """
SELECT s.corpus_id, c.chunk_id, t.term, p.frequency, c.length
FROM posting_segment AS s JOIN posting AS b ON b.segment_id = s.id
CROSS JOIN LATERAL unnest(b.terms, b.ends) WITH ORDINALITY AS t (term, stop, place)
CROSS JOIN LATERAL generate_series(coalesce(b.ends[t.place - 1], 0), t.stop - 1) AS n
CROSS JOIN LATERAL (
    SELECT 256 * get_byte(b.places, 2 * n) + get_byte(b.places, 2 * n + 1) AS place,
           get_byte(b.frequencies, n) + 1 AS frequency
) AS p
CROSS JOIN LATERAL (
    SELECT ('x' || encode(substring(s.chunk_ids FROM 8 * p.place + 1 FOR 8), 'hex'))::bit(64)::bigint AS chunk_id,
           ('x' || encode(substring(s.lengths FROM 4 * p.place + 1 FOR 4), 'hex'))::bit(32)::int AS length
) AS c
WHERE c.length >= 0
"""

#: The same, from the stored full text.
EXPECTED = """
SELECT v.corpus_id, c.id AS chunk_id, t.lexeme AS term, cardinality(t.positions) AS frequency,
       (sum(cardinality(t.positions)) OVER (PARTITION BY c.id))::int AS length
FROM chunk_vector AS v JOIN chunks AS c ON c.id = v.chunk_id, unnest(c.content_tsvector) AS t
"""


async def postings(connection: Connection) -> list[tuple[Any, ...]]:
    """Chunk, term, frequency and length of the chunk, in this order."""
    statement = f'SELECT chunk_id, term, frequency, length FROM ({POSTINGS}) AS p ORDER BY chunk_id, term COLLATE "C"'
    return [tuple(row) for row in await connection.fetch(statement)]


async def expected(connection: Connection) -> list[tuple[Any, ...]]:
    """What `postings` has to be."""
    statement = f'SELECT chunk_id, term, frequency, length FROM ({EXPECTED}) AS p ORDER BY chunk_id, term COLLATE "C"'
    return [tuple(row) for row in await connection.fetch(statement)]
