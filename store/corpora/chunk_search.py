"""The search over the chunks of a corpus: by vector and by full text, each in one statement for all lists."""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from schemas.errors import CorpusMissingError, EmbeddingDimensionMismatchError
from schemas.statuses import VectorStatus
from schemas.values.queries import Hit
from stages.ports import Vectors
from store.corpora.vector_index import find_index
from store.database import Connection, Database
from store.vectors import to_pgvector

EXACT = """
SELECT q.ordinal - 1 AS list, n.chunk_id, 1 - n.distance AS score
FROM unnest($2::vector[]) WITH ORDINALITY AS q (vector, ordinal)
CROSS JOIN LATERAL (
    SELECT v.chunk_id, v.vector <=> q.vector AS distance
    FROM chunk_vector AS v WHERE v.corpus_id = $1
    ORDER BY distance, v.chunk_id LIMIT $3
) AS n
ORDER BY q.ordinal, n.distance, n.chunk_id
"""

# The index holds half precision and knows no ties: twice as many candidates come out of it, and the vectors decide.
# Its predicate and its expression have to be the same in the statement as in the index.
APPROXIMATE = """
SELECT q.ordinal - 1 AS list, n.chunk_id, 1 - n.distance AS score
FROM unnest($1::vector[]) WITH ORDINALITY AS q (vector, ordinal)
CROSS JOIN LATERAL (
    SELECT near.chunk_id, near.vector <=> q.vector AS distance
    FROM (
        SELECT v.chunk_id, v.vector FROM chunk_vector AS v WHERE v.corpus_id = {corpus_id}
        ORDER BY v.vector::halfvec({dimension}) <=> q.vector::halfvec({dimension}) LIMIT 2 * $2
    ) AS near
    ORDER BY distance, near.chunk_id LIMIT $2
) AS n
ORDER BY q.ordinal, n.distance, n.chunk_id
"""

# Okapi BM25 with Lucene's idf, ln(1 + (N - df + 0.5) / (df + 0.5)), and without the constant factor k1 + 1. A term that
# occurs twice in the text counts twice. The summands are whole numbers of 1e-10, so that chunks of the same words get
# the same score whatever order they are added in.
BM25 = """
WITH size AS (
    SELECT searchable_chunks::float8 AS chunks, searchable_terms::float8 / nullif(searchable_chunks, 0) AS mean_length
    FROM corpus WHERE id = $1
), asked AS (
    SELECT q.ordinal, t.lexeme AS term, cardinality(t.positions) AS times
    FROM unnest($2::text[]) WITH ORDINALITY AS q (text, ordinal), unnest(to_tsvector('english', q.text)) AS t
), term AS MATERIALIZED (
    SELECT d.term, ln(1 + (s.chunks - d.chunks + 0.5) / (d.chunks + 0.5)) AS idf, s.mean_length
    FROM size AS s, (SELECT DISTINCT term FROM asked) AS a
    CROSS JOIN LATERAL (
        SELECT a.term, count(*) AS chunks FROM chunk_term AS p WHERE p.corpus_id = $1 AND p.term = a.term
    ) AS d
    WHERE d.chunks > 0
), posting AS MATERIALIZED (
    SELECT t.term, p.chunk_id,
           t.idf * p.frequency
               / (p.frequency + $5::float8 * (1 - $6::float8 + $6::float8 * p.length / t.mean_length)) AS weight
    FROM term AS t
    CROSS JOIN LATERAL (
        SELECT chunk_id, frequency, length FROM chunk_term
        WHERE corpus_id = $1 AND term = t.term AND ($4::bigint[] IS NULL OR chunk_id = ANY($4))
    ) AS p
), scored AS MATERIALIZED (
    SELECT a.ordinal, p.chunk_id, sum(round(a.times * p.weight * 1e10)) AS units
    FROM asked AS a JOIN posting AS p USING (term)
    GROUP BY a.ordinal, p.chunk_id
)
SELECT q.ordinal - 1 AS list, n.chunk_id, n.units / 1e10 AS score
FROM generate_series(1, cardinality($2::text[])) AS q (ordinal)
CROSS JOIN LATERAL (
    SELECT s.chunk_id, s.units FROM scored AS s WHERE s.ordinal = q.ordinal ORDER BY s.units DESC, s.chunk_id LIMIT $3
) AS n
ORDER BY q.ordinal, n.units DESC, n.chunk_id
"""

_COVER_DENSITY = f"""
SELECT q.ordinal - 1 AS list, n.chunk_id, n.score
FROM (
    SELECT t.ordinal, {{query}} AS query FROM unnest($2::text[]) WITH ORDINALITY AS t (text, ordinal)
) AS q
CROSS JOIN LATERAL (
    SELECT c.id AS chunk_id, ts_rank_cd(c.content_tsvector, q.query)::float8 AS score
    FROM chunks AS c JOIN works AS w ON w.id = c.work_id
    WHERE c.content_tsvector @@ q.query AND c.vector_status = '{VectorStatus.VEC}' AND w.corpus_id = $1
      AND ($4::bigint[] IS NULL OR c.id = ANY($4))
    ORDER BY score DESC, c.id LIMIT $3
) AS n
ORDER BY q.ordinal, n.score DESC, n.chunk_id
"""

_ALL_TERMS = "websearch_to_tsquery('english', t.text)"

_ANY_TERM = r"""(
    SELECT string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery
    FROM unnest(to_tsvector('english', t.text))
)"""

_WIDEST = 1000
"""Candidates that a search in an HNSW index can hold at most."""

_LEXICAL: Final = {
    "bm25": BM25,
    "websearch": _COVER_DENSITY.format(query=_ALL_TERMS),
    "cover_density": _COVER_DENSITY.format(query=_ANY_TERM),
}


class PostgresChunkSearch:
    """Cosine over pgvector, and three scorers of full text over the same chunks.

    `bm25` counts the postings of the corpus: any term of the text may match. `websearch` reads the text as a search
    box does (quotes, `or`, `-`), requires every term, and ranks by cover density; `cover_density` ranks the same way
    what matches any term. `k1` and `b` are BM25's.
    """

    def __init__(self, database: Database, *, k1: float, b: float) -> None:
        self._database = database
        self._k1 = k1
        self._b = b

    async def dense(self, corpus_id: int, vectors: Vectors, *, limit: int) -> list[list[Hit]]:
        """See ChunkSearch. Exact, but for a corpus that has a vector index."""
        if not len(vectors) or not limit:
            return [[] for _ in vectors]
        rows = to_pgvector(vectors)

        async def search(connection: Connection) -> list[list[Hit]]:
            corpus = await find_index(connection, corpus_id)
            if corpus is None:
                raise CorpusMissingError(corpus_id)
            if vectors.shape[1] != corpus.dimension:
                raise EmbeddingDimensionMismatchError(expected=corpus.dimension, actual=vectors.shape[1])
            if corpus.has_index:
                statement = APPROXIMATE.format(corpus_id=corpus_id, dimension=corpus.dimension)
                width = min(max(100, 4 * limit), _WIDEST)
                return await _lists(connection, len(rows), statement, rows, limit, width=width)
            return await _lists(connection, len(rows), EXACT, corpus_id, rows, limit)

        return await self._database.with_retry(search)

    async def lexical(self, corpus_id: int, texts: Sequence[str], *, limit: int, scorer: str) -> list[list[Hit]]:
        """See ChunkSearch."""
        return await self._lexical(corpus_id, texts, limit, scorer)

    async def lexical_scores(
        self, corpus_id: int, text: str, chunk_ids: Sequence[int], *, scorer: str
    ) -> dict[int, float]:
        """See ChunkSearch."""
        (hits,) = await self._lexical(corpus_id, [text], len(chunk_ids), scorer, list(chunk_ids))
        return {hit.chunk_id: hit.score for hit in hits}

    async def _lexical(
        self, corpus_id: int, texts: Sequence[str], limit: int, scorer: str, among: list[int] | None = None
    ) -> list[list[Hit]]:
        if scorer not in _LEXICAL:
            raise ValueError(f"{scorer!r} is not a full-text scorer; there are {', '.join(_LEXICAL)}.")
        if not texts or not limit:
            return [[] for _ in texts]
        parameters = (self._k1, self._b) if scorer == "bm25" else ()

        async def search(connection: Connection) -> list[list[Hit]]:
            if await find_index(connection, corpus_id) is None:
                raise CorpusMissingError(corpus_id)
            return await _lists(
                connection, len(texts), _LEXICAL[scorer], corpus_id, list(texts), limit, among, *parameters
            )

        return await self._database.with_retry(search)


async def _lists(
    connection: Connection, count: int, statement: str, *arguments: Any, width: int = 100
) -> list[list[Hit]]:
    async with connection.transaction():
        # A cached generic plan knows neither how large this corpus is nor whether an index covers it.
        await connection.execute(f"SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL hnsw.ef_search = {width}")
        rows = await connection.fetch(statement, *arguments)
    found: list[list[Hit]] = [[] for _ in range(count)]
    for position, hits in groupby(rows, key=itemgetter("list")):
        found[position] = [Hit(chunk_id=hit["chunk_id"], score=hit["score"]) for hit in hits]
    return found
