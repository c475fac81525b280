"""The search over the chunks of a corpus: by vector and by full text, all lists at once."""

import asyncio
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from asyncpg import Record

from schemas.errors import CorpusMissingError, EmbeddingDimensionMismatchError
from schemas.full_text import CONFIGURATION
from schemas.statuses import VectorStatus
from schemas.values.queries import Hit
from stages.ports import Vectors
from store.corpora import bm25
from store.corpora.vector_index import find_index
from store.database import Connection, Database
from store.vectors import to_pgvector

# Every vector of the corpus is read once, whatever the number of lists; the sorts of the lists read distances alone.
_EXACT = """
WITH near AS (SELECT v.chunk_id, {distances} FROM chunk_vector AS v WHERE v.corpus_id = $1)
SELECT n.list, n.chunk_id, 1 - n.distance AS score FROM ({lists}) AS n ORDER BY n.list, n.distance, n.chunk_id
"""
_DISTANCE = "v.vector <=> ($2::vector[])[{list} + 1] AS distance_{list}"
_NEAREST = """
(SELECT {list} AS list, chunk_id, distance_{list} AS distance FROM near ORDER BY distance, chunk_id LIMIT $3)
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

_ALL_TERMS = f"websearch_to_tsquery('{CONFIGURATION}', t.text)"

_ANY_TERM = rf"""(
    SELECT string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery
    FROM unnest(to_tsvector('{CONFIGURATION}', t.text))
)"""

_WIDEST = 1000
"""Candidates that a search in an HNSW index can hold at most."""

_BM25: Final = "bm25"

_COVER_DENSITIES: Final = {
    "websearch": _COVER_DENSITY.format(query=_ALL_TERMS),
    "cover_density": _COVER_DENSITY.format(query=_ANY_TERM),
}


class PostgresChunkSearch:
    """Cosine over pgvector, and three scorers of full text over the same chunks.

    `bm25` reads the postings of the corpus: any term of the text may match. `websearch` reads the text as a search
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
            return await _lists(connection, len(rows), _exact(len(rows)), corpus_id, rows, limit)

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
        if scorer != _BM25 and scorer not in _COVER_DENSITIES:
            raise ValueError(
                f"{scorer!r} is not a full-text scorer; there are {', '.join((_BM25, *_COVER_DENSITIES))}."
            )
        if not texts or not limit:
            return [[] for _ in texts]
        if scorer == _BM25:
            return await self._bm25(corpus_id, texts, limit, among)

        async def search(connection: Connection) -> list[list[Hit]]:
            await _refuse_missing(connection, corpus_id)
            statement = _COVER_DENSITIES[scorer]
            return await _lists(connection, len(texts), statement, corpus_id, list(texts), limit, among)

        return await self._database.with_retry(search)

    async def _bm25(self, corpus_id: int, texts: Sequence[str], limit: int, among: list[int] | None) -> list[list[Hit]]:
        async def read(connection: Connection) -> tuple[bm25.AskedTerms, list[bm25.Found]]:
            await _refuse_missing(connection, corpus_id)
            asked = await bm25.asked_terms(connection, texts)
            terms = sorted({term for of_text in asked for term in of_text})
            rows = await _rows(connection, bm25.READ, corpus_id, terms)
            return asked, [bm25.Found(*row) for row in rows]

        asked, found = await self._database.with_retry(read)
        # Without the connection, and beside the event loop: four texts over a million chunks take .15 s.
        return await asyncio.to_thread(bm25.best, found, asked, k1=self._k1, b=self._b, limit=limit, among=among)


def _exact(count: int) -> str:
    lists = range(count)
    return _EXACT.format(
        distances=", ".join(_DISTANCE.format(list=number) for number in lists),
        lists=" UNION ALL ".join(_NEAREST.format(list=number) for number in lists),
    )


async def _refuse_missing(connection: Connection, corpus_id: int) -> None:
    if await find_index(connection, corpus_id) is None:
        raise CorpusMissingError(corpus_id)


async def _rows(connection: Connection, statement: str, *arguments: Any, width: int = 100) -> list[Record]:
    async with connection.transaction():
        # A cached generic plan knows neither how large this corpus is nor whether an index covers it.
        await connection.execute(f"SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL hnsw.ef_search = {width}")
        rows: list[Record] = await connection.fetch(statement, *arguments)
    return rows


async def _lists(
    connection: Connection, count: int, statement: str, *arguments: Any, width: int = 100
) -> list[list[Hit]]:
    rows = await _rows(connection, statement, *arguments, width=width)
    found: list[list[Hit]] = [[] for _ in range(count)]
    for position, hits in groupby(rows, key=itemgetter("list")):
        found[position] = [Hit(chunk_id=hit["chunk_id"], score=hit["score"]) for hit in hits]
    return found
