"""The search over chunks: BM25 to the last digit, read by the index of its blocks; and the vector index."""

import json
from typing import Any

import numpy as np
import pytest

from schemas.values.queries import Hit
from store.corpora import keeping, postings
from store.corpora.chunk_search import PostgresChunkSearch, build_index, drop_index, find_index
from store.corpora.postings import bucket_hash, withdraw_work
from store.database import Connection, Database
from tests.store.postings import EXPECTED
from tests.store.small_corpora import SearchableChunk, store_corpus

EAST = np.array([1, 0], dtype=np.float32)
WORDS = [f"{first}{last}" for first in ("tea", "bri", "sto", "wal", "gin") for last in ("bo", "ka", "lu", "mi", "ra")]


def texts(count: int, seed: int = 3) -> list[SearchableChunk]:
    """Texts of 1 to 60 words; the first words of WORDS are common, the last ones rare."""
    numbers = np.random.default_rng(seed)
    odds = 1 / np.arange(1, len(WORDS) + 1)
    return [
        SearchableChunk(n, " ".join(numbers.choice(WORDS, size=numbers.integers(1, 61), p=odds / odds.sum())), EAST)
        for n in range(1, count + 1)
    ]


async def test_bm25_has_every_bit_of_the_formula_in_sql_whatever_was_withdrawn_and_merged(database: Database) -> None:
    asked = ["teabo ginra", "stolu stolu walmi", "brika " * 3 + "gingin ginmi", "unknown", "", " ".join(WORDS)]
    async with database.connection() as connection:
        corpus = await store_corpus(connection, [])
        for number in range(20):
            await store_batch(connection, corpus, number, 40)
        for number in (3, 7):
            async with connection.transaction():
                await withdraw_work(connection, await connection.fetchval("SELECT min(id) + $1 FROM works", number))
        before = await PostgresChunkSearch(database, k1=1.2, b=0.4).lexical([corpus], asked, limit=1000, scorer="bm25")
        wanted = [await in_sql(connection, corpus, text, 1.2, 0.4) for text in asked]
        await keeping.merge(connection, corpus)
        segments = await connection.fetchval("SELECT count(*) FROM posting_segment")
    search = PostgresChunkSearch(database, k1=1.2, b=0.4)

    found = await search.lexical([corpus], asked, limit=1000, scorer="bm25")
    best = await search.lexical([corpus], asked, limit=7, scorer="bm25")

    assert found == before == wanted
    assert best == [hits[:7] for hits in wanted]
    assert (segments, [len(hits) for hits in found]) == (3, [len(hits) for hits in wanted])
    assert len(found[-1]) > 600


async def store_batch(connection: Connection, corpus: int, number: int, size: int) -> None:
    """A work of its own whose chunks can be found."""
    other = await store_corpus(
        connection,
        [SearchableChunk(1000 * number + chunk.id, chunk.content, EAST) for chunk in texts(size, seed=number)],
        name=f"batch {number}",
    )
    await move(connection, other, corpus)


async def move(connection: Connection, other: int, corpus: int) -> None:
    """Give the works of one corpus to another."""
    await connection.execute("UPDATE works SET corpus_id = $1 WHERE corpus_id = $2", corpus, other)
    for table in ("chunk_vector", "posting_segment"):
        await connection.execute(f"UPDATE {table} SET corpus_id = $1 WHERE corpus_id = $2", corpus, other)
    await connection.execute(
        "UPDATE corpus AS c SET searchable_chunks = c.searchable_chunks + o.searchable_chunks, "
        "searchable_terms = c.searchable_terms + o.searchable_terms FROM corpus AS o WHERE c.id = $1 AND o.id = $2",
        corpus,
        other,
    )


IN_SQL = f"""
WITH posting AS ({EXPECTED}), size AS (
    SELECT searchable_chunks::float8 AS chunks, searchable_terms::float8 / searchable_chunks AS mean_length
    FROM corpus WHERE id = $1
), asked AS (
    SELECT lexeme AS term, cardinality(positions) AS times FROM unnest(to_tsvector('english', $2))
), term AS (
    SELECT a.term, a.times, s.mean_length, ln(1 + (s.chunks - d.chunks + 0.5) / (d.chunks + 0.5)) AS idf
    FROM size AS s, asked AS a CROSS JOIN LATERAL (
        SELECT count(*) AS chunks FROM posting AS p WHERE p.corpus_id = $1 AND p.term = a.term
    ) AS d
)
SELECT p.chunk_id, sum(round(t.times * (
    t.idf * p.frequency / (p.frequency + $3::float8 * (1 - $4::float8 + $4::float8 * p.length / t.mean_length))
) * 1e10)) / 1e10 AS score
FROM term AS t JOIN posting AS p ON p.corpus_id = $1 AND p.term = t.term
GROUP BY p.chunk_id ORDER BY score DESC, p.chunk_id
"""


async def in_sql(connection: Connection, corpus: int, text: str, k1: float, b: float) -> list[Hit]:
    """What BM25 has to find, from the full text of the chunks that have a vector."""
    rows = await connection.fetch(IN_SQL, corpus, text, k1, b)
    return [Hit(chunk_id=row["chunk_id"], score=row["score"]) for row in rows]


async def test_bm25_reads_the_rows_of_its_terms_alone(connection: Connection) -> None:
    corpus = await store_corpus(connection, texts(3000))
    words = [f"word{number}" for number in range(5000)]
    await store_corpus(connection, [SearchableChunk(9000, " ".join(words), EAST)], name="other")
    await connection.execute("VACUUM ANALYZE posting, posting_segment")
    statement = f"EXPLAIN (FORMAT JSON) {postings.READ}"
    terms = ["ginra", "ginmi"]
    plan = json.loads(await connection.fetchval(statement, [corpus], terms, [bucket_hash(term) for term in terms]))

    scans = [node for node in nodes(plan[0]["Plan"]) if node.get("Relation Name") == "posting"]
    assert {scan["Index Name"] for scan in scans} == {"posting_pkey"}


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", []) for node in nodes(child))]


@pytest.mark.parametrize("limit", [19, 100])
async def test_the_vector_index_finds_what_the_exact_scan_finds(database: Database, limit: int) -> None:
    numbers = np.random.default_rng(5)
    centres = numbers.normal(size=(50, 64))
    rows = (centres[numbers.integers(50, size=4000)] + 0.7 * numbers.normal(size=(4000, 64))).astype(np.float32)
    queries = (centres[:20] + 0.7 * numbers.normal(size=(20, 64))).astype(np.float32)
    async with database.connection() as connection:
        corpus = await store_corpus(connection, [SearchableChunk(n, "tea", row) for n, row in enumerate(rows, start=1)])
        search = PostgresChunkSearch(database, k1=0.9, b=0.4)
        exact = await search.dense([corpus], queries, limit=limit)

        built = await build_index(connection, corpus)
        found = await search.dense([corpus], queries, limit=limit)

        assert built
        assert await find_index(connection, corpus) == (corpus, 64, True)
    common = [
        len({a.chunk_id for a in left} & {b.chunk_id for b in right}) for left, right in zip(exact, found, strict=True)
    ]
    assert sum(common) / (limit * len(queries)) >= 0.99
    scores = {hit.chunk_id: hit.score for hit in exact[0]}
    assert all(hit.score == pytest.approx(scores[hit.chunk_id]) for hit in found[0] if hit.chunk_id in scores)


async def test_a_vector_index_is_built_once_and_left_out_when_it_broke_off(connection: Connection) -> None:
    corpus = await store_corpus(connection, texts(5))
    assert [await build_index(connection, corpus) for _ in range(2)] == [True, False]

    await connection.execute(
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = $1::regclass", f"chunk_vector_hnsw_{corpus}"
    )
    assert await find_index(connection, corpus) == (corpus, 2, False)
    assert await build_index(connection, corpus)

    await drop_index(connection, corpus)
    assert await find_index(connection, corpus) == (corpus, 2, False)
    assert not await build_index(connection, 404)


async def test_the_vector_index_of_one_corpus_serves_no_other(database: Database) -> None:
    async with database.connection() as connection:
        first = await store_corpus(connection, texts(5))
        second = await store_corpus(
            connection, [SearchableChunk(100, "tea", np.array([1, 0, 0], dtype=np.float32))], name="second"
        )
        await build_index(connection, first)
        await build_index(connection, second)
    search = PostgresChunkSearch(database, k1=0.9, b=0.4)

    assert [[hit.chunk_id for hit in hits] for hits in await search.dense([first], EAST[None], limit=2)] == [[1, 2]]
    assert [len(hits) for hits in await search.dense([second], np.ones((1, 3), dtype=np.float32), limit=5)] == [1]
