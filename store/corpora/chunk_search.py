"""The search over the chunks of corpora: by vector and by full text, all lists at once."""

import asyncio
from collections.abc import Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

from asyncpg import Record

from schemas.errors import EmbeddingDimensionMismatchError
from schemas.statuses import VectorStatus
from schemas.values.queries import Hit
from stages.ports import Vectors
from store.corpora import postings
from store.corpora.corpora import HAS_INDEX, corpus_missing
from store.corpora.postings import bucket_hash
from store.database import Connection, Database, Lock, held, to_pgvector

SEARCHED = f"""
SELECT k.id, k.dimension, coalesce(k.full_text, 'simple') AS full_text, {HAS_INDEX} AS has_index
FROM corpus AS k WHERE k.id = ANY($1::bigint[])
"""

# Every vector of the corpora is read once, whatever the number of lists; the sorts of the lists read distances alone.
_EXACT = """
WITH near AS (SELECT v.chunk_id, {distances} FROM chunk_vector AS v WHERE v.corpus_id = ANY($1::int[]){among})
SELECT n.list, n.chunk_id, 1 - n.distance AS score FROM ({lists}) AS n ORDER BY n.list, n.distance, n.chunk_id
"""
_AMONG = " AND v.chunk_id = ANY($4::bigint[])"
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

WEBSEARCH = f"""
SELECT q.ordinal - 1 AS list, n.chunk_id, n.score
FROM (
    SELECT t.ordinal, websearch_to_tsquery($5::text::regconfig, t.text) AS query
    FROM unnest($2::text[]) WITH ORDINALITY AS t (text, ordinal)
) AS q
CROSS JOIN LATERAL (
    SELECT c.id AS chunk_id, ts_rank_cd(c.content_tsvector, q.query)::float8 AS score
    FROM chunks AS c JOIN works AS w ON w.id = c.work_id
    WHERE c.content_tsvector @@ q.query AND c.vector_status = '{VectorStatus.VEC}' AND w.corpus_id = ANY($1::bigint[])
      AND ($4::bigint[] IS NULL OR c.id = ANY($4))
    ORDER BY score DESC, c.id LIMIT $3
) AS n
ORDER BY q.ordinal, n.score DESC, n.chunk_id
"""

_WIDEST = 1000
"""Candidates that a search in an HNSW index can hold at most."""


class PostgresChunkSearch:
    """Cosine over pgvector, and two scorers of full text over the same chunks.

    `bm25` reads the postings of the corpora: any term of the text may match. `websearch` reads the text as a search
    box does (quotes, `or`, `-`), requires every term, and ranks by cover density. `k1` and `b` are BM25's.
    """

    def __init__(self, database: Database, *, k1: float, b: float) -> None:
        self._database = database
        self._k1 = k1
        self._b = b

    async def dense(
        self, corpora: Sequence[int], vectors: Vectors, *, limit: int, among: Sequence[int] | None = None
    ) -> list[list[Hit]]:
        """See ChunkSearch. Exact, but for corpora that have a vector index, where `among` is not given."""
        if not len(vectors) or not limit:
            return [[] for _ in vectors]
        rows = to_pgvector(vectors)

        async def search(connection: Connection) -> list[list[list[Hit]]]:
            found = await searched(connection, corpora)
            if other := next((one for one in found if one["dimension"] != vectors.shape[1]), None):
                raise EmbeddingDimensionMismatchError(expected=other["dimension"], actual=vectors.shape[1])
            indexed = [one for one in found if one["has_index"] and among is None]
            scanned = [one["id"] for one in found if one not in indexed]
            lists = []
            for corpus in indexed:
                statement = APPROXIMATE.format(corpus_id=corpus["id"], dimension=corpus["dimension"])
                width = min(max(100, 4 * limit), _WIDEST)
                lists.append(await _lists(connection, len(rows), statement, rows, limit, width=width))
            if scanned:
                chosen = () if among is None else (list(among),)
                statement = _exact(len(rows), is_among=among is not None)
                lists.append(await _lists(connection, len(rows), statement, scanned, rows, limit, *chosen))
            return lists

        found = await self._database.with_retry(search)
        if len(found) == 1:
            return found[0]
        together = ([*chain(*lists)] for lists in zip(*found, strict=True))
        return [sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:limit] for hits in together]

    async def lexical(
        self,
        corpora: Sequence[int],
        texts: Sequence[str],
        *,
        limit: int,
        scorer: str,
        among: Sequence[int] | None = None,
    ) -> list[list[Hit]]:
        """See ChunkSearch."""
        if not texts or not limit:
            return [[] for _ in texts]
        chosen = None if among is None else list(among)
        if scorer == "bm25":
            return await self._bm25(corpora, texts, limit, chosen)

        async def search(connection: Connection) -> list[list[Hit]]:
            full_text = await _full_text(connection, corpora)
            arguments = (list(corpora), list(texts), limit, chosen, full_text)
            return await _lists(connection, len(texts), WEBSEARCH, *arguments)

        return await self._database.with_retry(search)

    async def _bm25(
        self, corpora: Sequence[int], texts: Sequence[str], limit: int, among: list[int] | None
    ) -> list[list[Hit]]:
        async def read(connection: Connection) -> tuple[postings.AskedTerms, list[Record]]:
            asked = await postings.asked_terms(connection, texts, full_text=await _full_text(connection, corpora))
            terms = sorted({term for of_text in asked for term in of_text})
            hashes = [bucket_hash(term) for term in terms]
            return asked, await _rows(connection, postings.READ, list(corpora), terms, hashes)

        asked, found = await self._database.with_retry(read)
        # Without the connection, and beside the event loop: four texts over a million chunks take .15 s.
        return await asyncio.to_thread(postings.best, found, asked, k1=self._k1, b=self._b, limit=limit, among=among)


def _exact(count: int, *, is_among: bool) -> str:
    lists = range(count)
    return _EXACT.format(
        among=_AMONG if is_among else "",
        distances=", ".join(_DISTANCE.format(list=number) for number in lists),
        lists=" UNION ALL ".join(_NEAREST.format(list=number) for number in lists),
    )


async def searched(connection: Connection, corpora: Sequence[int]) -> list[Record]:
    """How corpora are searched. Raises DomainError for one that is not stored."""
    found: list[Record] = await connection.fetch(SEARCHED, list(corpora))
    if missing := set(corpora).difference(row["id"] for row in found):
        raise corpus_missing(min(missing))
    return found


async def _full_text(connection: Connection, corpora: Sequence[int]) -> str:
    """The configuration by which the texts of corpora and the questions to them are read."""
    (full_text,) = {str(row["full_text"]) for row in await searched(connection, corpora)}
    return full_text


async def _rows(connection: Connection, statement: str, *arguments: Any, width: int = 100) -> list[Record]:
    async with connection.transaction():
        # A cached generic plan knows neither how large this corpus is nor whether an index covers it.
        # Without iterative scans a selective filter on an HNSW index gives too few rows or none.
        await connection.execute(
            "SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL hnsw.iterative_scan = strict_order; "
            f"SET LOCAL hnsw.ef_search = {width}"
        )
        rows: list[Record] = await connection.fetch(statement, *arguments)
    return rows


async def _lists(
    connection: Connection, count: int, statement: str, *arguments: Any, width: int = 100
) -> list[list[Hit]]:
    rows = await _rows(connection, statement, *arguments, width=width)
    found: list[list[Hit]] = [[] for _ in range(count)]
    for position, hits in groupby(rows, key=itemgetter("list")):
        found[position] = [(hit["chunk_id"], hit["score"]) for hit in hits]
    return found


_BUILD_SECONDS = 3600.0
_MAX_DIMENSION = 4000
"""Longer vectors of half precision have no place in an HNSW index."""

BUILD = """
CREATE INDEX CONCURRENTLY chunk_vector_hnsw_{corpus_id} ON chunk_vector
USING hnsw ((vector::halfvec({dimension})) halfvec_cosine_ops) WHERE corpus_id = {corpus_id}
"""


async def build_index(connection: Connection, corpus_id: int) -> bool:
    """Build the vector index of a corpus where it has none. Whether this call built it.

    Takes minutes for 100,000 chunks, blocks no reader or writer, and needs a connection outside of a transaction.
    False when there is one, when another process is building it, when the vectors are too long for one (the search
    stays exact), or when the corpus is not stored.
    """
    # Waiting here would hold a snapshot, and the build waits for every older snapshot.
    async with held(connection, Lock.CHUNK_INDEX, corpus_id) as is_held:
        corpus = await connection.fetchrow(SEARCHED, [corpus_id]) if is_held else None
        if corpus is None or corpus["has_index"] or corpus["dimension"] > _MAX_DIMENSION:
            return False
        await drop_index(connection, corpus_id)
        statement = BUILD.format(corpus_id=corpus_id, dimension=corpus["dimension"])
        await connection.execute(statement, timeout=_BUILD_SECONDS)
        return True


async def drop_index(connection: Connection, corpus_id: int) -> None:
    """Drop the vector index of a corpus, whole or half-built; nothing happens where there is none."""
    statement = f"DROP INDEX CONCURRENTLY IF EXISTS chunk_vector_hnsw_{corpus_id:d}"
    await connection.execute(statement, timeout=_BUILD_SECONDS)
