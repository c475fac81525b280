"""The search over chunks: BM25 to the last digit, the vector index, several corpora as one, and filtered works."""

import json
from typing import Any

import numpy as np
import pytest

from schemas.values.documents import WorkFilter
from schemas.values.queries import Hit
from store.corpora import keeping, postings
from store.corpora.chunk_search import SEARCHED, PostgresChunkSearch, build_index, drop_index
from store.corpora.postings import bucket_hash, withdraw_work
from store.corpora.works import matching_chunks, matching_works
from store.database import Connection, Database
from tests.store.small_corpora import EXPECTED, SearchableChunk, store_corpus

WORDS = [f"{first}{last}" for first in ("tea", "bri", "sto", "wal", "gin") for last in ("bo", "ka", "lu", "mi", "ra")]
ASKED = ["teabo ginra", "stolu walmi", " ".join(WORDS), "unknown"]
SCORERS = ("bm25", "websearch")
ONES = np.ones(8, dtype=np.float32)


def texts(count: int, *, first: int = 1, seed: int = 3) -> list[SearchableChunk]:
    """Texts of 1 to 60 words, numbered from `first`; the first words of WORDS are common, the last ones rare."""
    numbers = np.random.default_rng(seed)
    odds = 1 / np.arange(1, len(WORDS) + 1)
    vectors = numbers.normal(size=(count, 8)).astype(np.float32)
    return [
        SearchableChunk(n, " ".join(numbers.choice(WORDS, size=numbers.integers(1, 61), p=odds / odds.sum())), vector)
        for n, vector in enumerate(vectors, start=first)
    ]


async def test_bm25_has_every_bit_of_the_formula_in_sql_whatever_was_withdrawn_and_merged(database: Database) -> None:
    asked = ["teabo ginra", "stolu stolu walmi", "brika " * 3 + "gingin ginmi", "unknown", "", " ".join(WORDS)]
    async with database.connection() as connection:
        corpus, *batches = [
            await store_corpus(connection, texts(40, first=1000 * seed, seed=seed), name=f"batch {seed}")
            for seed in range(20)
        ]
        for batch in batches:
            await move(connection, batch, corpus)
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


async def move(connection: Connection, other: int, corpus: int) -> None:
    """Give the works of one corpus to another."""
    for table in ("works", "chunk_vector", "posting_segment"):
        await connection.execute(f"UPDATE {table} SET corpus_id = $1 WHERE corpus_id = $2", corpus, other)
    moved = "UPDATE corpus AS c SET searchable_chunks = c.searchable_chunks + o.searchable_chunks FROM corpus AS o"
    await connection.execute(f"{moved} WHERE c.id = $1 AND o.id = $2", corpus, other)


IN_SQL = f"""
WITH posting AS ({EXPECTED}), size AS (
    SELECT k.searchable_chunks::float8 AS chunks, sum(p.frequency)::float8 / k.searchable_chunks AS mean_length
    FROM corpus AS k JOIN posting AS p ON p.corpus_id = k.id WHERE k.id = $1 GROUP BY k.id
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
    rows = await connection.fetch(IN_SQL, corpus, text, k1, b, timeout=600)
    return [(row["chunk_id"], row["score"]) for row in rows]


async def test_bm25_reads_the_rows_of_its_terms_alone(connection: Connection) -> None:
    corpus = await store_corpus(connection, texts(3000))
    words = [f"word{number}" for number in range(5000)]
    await store_corpus(connection, [SearchableChunk(9000, " ".join(words), ONES)], name="other")
    await connection.execute("VACUUM ANALYZE posting, posting_segment")
    statement = f"EXPLAIN (FORMAT JSON) {postings.READ}"
    terms = ["ginra", "ginmi"]
    plan = json.loads(await connection.fetchval(statement, [corpus], terms, [bucket_hash(term) for term in terms]))

    scans = [node for node in nodes(plan[0]["Plan"]) if node.get("Relation Name") == "posting"]
    assert {scan["Index Name"] for scan in scans} == {"posting_pkey"}


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", []) for node in nodes(child))]


async def test_the_vector_index_finds_what_the_exact_scan_finds(database: Database, connection: Connection) -> None:
    numbers = np.random.default_rng(5)
    centres = numbers.normal(size=(50, 64))
    rows = (centres[numbers.integers(50, size=4000)] + 0.7 * numbers.normal(size=(4000, 64))).astype(np.float32)
    queries = (centres[:20] + 0.7 * numbers.normal(size=(20, 64))).astype(np.float32)
    corpus = await store_corpus(connection, [SearchableChunk(n, "tea", row) for n, row in enumerate(rows, start=1)])
    search = PostgresChunkSearch(database, k1=0.9, b=0.4)
    limits = (19, 100)
    exact = [await search.dense([corpus], queries, limit=limit) for limit in limits]
    cosines = rows @ queries[0] / np.linalg.norm(rows, axis=1) / np.linalg.norm(queries[0])
    best = np.argsort(-cosines)[:100]
    assert [chunk_id for chunk_id, _ in exact[1][0]] == (best + 1).tolist()
    assert [score for _, score in exact[1][0]] == pytest.approx(cosines[best].tolist(), abs=1e-6)

    assert await build_index(connection, corpus)
    assert (await connection.fetchrow(SEARCHED, [corpus]))["has_index"]
    for limit, whole in zip(limits, exact, strict=True):
        found = await search.dense([corpus], queries, limit=limit)
        scores = [dict(hits) for hits in whole]
        common = [sum(chunk_id in of for chunk_id, _ in hits) for of, hits in zip(scores, found, strict=True)]
        assert sum(common) / (limit * len(queries)) >= 0.99
        assert all(score == pytest.approx(scores[0][id_]) for id_, score in found[0] if id_ in scores[0])


async def test_a_vector_index_is_built_once_for_its_corpus_and_left_out_when_it_broke_off(
    database: Database, connection: Connection
) -> None:
    corpus = await store_corpus(connection, texts(5))
    second = await store_corpus(connection, [SearchableChunk(100, "tea", ONES[:3])], name="second")
    search = PostgresChunkSearch(database, k1=0.9, b=0.4)
    exact = await search.dense([corpus], ONES[None], limit=2)
    assert [await build_index(connection, one) for one in (corpus, corpus, second)] == [True, False, True]
    assert await search.dense([corpus], ONES[None], limit=2) == exact
    assert [len(hits) for hits in await search.dense([second], ONES[None, :3], limit=5)] == [1]

    broken = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = $1::regclass"
    await connection.execute(broken, f"chunk_vector_hnsw_{corpus}")
    assert not (await connection.fetchrow(SEARCHED, [corpus]))["has_index"]
    assert await build_index(connection, corpus)

    await drop_index(connection, corpus)
    assert not (await connection.fetchrow(SEARCHED, [corpus]))["has_index"]
    assert not await build_index(connection, 404)


async def test_several_corpora_have_the_scores_of_one_with_all_works(
    database: Database, connection: Connection
) -> None:
    sizes = ((40, 1, 5), (110, 101, 6))
    apart = [
        await store_corpus(connection, texts(count, first=first, seed=seed), name=f"{first}")
        for count, first, seed in sizes
    ]
    together, rest = [
        await store_corpus(connection, texts(count, first=1000 + first, seed=seed), name=f"together {first}")
        for count, first, seed in sizes
    ]
    await move(connection, rest, together)
    search = PostgresChunkSearch(database, k1=0.9, b=0.4)

    def back(lists: list[list[Hit]]) -> list[list[Hit]]:
        return [[(chunk_id - 1000, score) for chunk_id, score in hits] for hits in lists]

    for scorer in SCORERS:
        for limit in (3, 25, 1000):
            expected = back(await search.lexical([together], ASKED, limit=limit, scorer=scorer))
            for corpora in (apart, apart[::-1]):
                assert await search.lexical(corpora, ASKED, limit=limit, scorer=scorer) == expected
        # Chosen chunks have the scores of the search, and those that do not match have none.
        chosen = [*range(1, 41), 999]
        (hits,) = await search.lexical(apart, ASKED[:1], limit=len(chosen), scorer=scorer, among=chosen)
        assert hits == [(chunk_id, score) for chunk_id, score in expected[0] if chunk_id <= 40]
        assert 0 < len(hits) < 40
        assert await search.lexical(apart, ASKED[:1], limit=0, scorer=scorer, among=[]) == [[]]
    # The statistics are those of both: alone, a corpus has other scores.
    (alone,), (both,) = [await search.lexical(ids, ASKED[:1], limit=1000, scorer="bm25") for ids in (apart[:1], apart)]
    assert alone and not set(alone) & set(both)

    asked = np.random.default_rng(9).normal(size=(3, 8)).astype(np.float32)
    expected = back(await search.dense([together], asked, limit=12))
    assert [len(hits) for hits in expected] == [12] * 3
    assert await search.dense(apart, asked, limit=12) == expected
    for corpus in apart:
        assert await build_index(connection, corpus)
        assert await search.dense(apart, asked, limit=12) == expected


@pytest.mark.parametrize("is_indexed", [False, True])
async def test_chosen_chunks_have_the_scores_that_they_have_among_all(database: Database, is_indexed: bool) -> None:
    corpus = await database.once(store_corpus, texts(120, seed=7))
    if is_indexed:
        assert await database.once(build_index, corpus)
    search = PostgresChunkSearch(database, k1=0.9, b=0.4)
    asked = np.random.default_rng(9).normal(size=(2, 8)).astype(np.float32)
    chosen = list(range(3, 120, 7))

    for scorer in SCORERS:
        whole = await search.lexical([corpus], ASKED, limit=1000, scorer=scorer)
        found = await search.lexical([corpus], ASKED, limit=5, scorer=scorer, among=chosen)
        assert found == [[hit for hit in hits if hit[0] in chosen][:5] for hits in whole]
    found = await search.dense([corpus], asked, limit=5, among=chosen)
    whole = await search.dense([corpus], asked, limit=1000, among=range(1, 121))
    assert found == [[hit for hit in hits if hit[0] in chosen][:5] for hits in whole]
    assert [len(hits) for hits in found] == [5, 5]
    assert await search.dense([corpus], asked, limit=5, among=[]) == [[], []]


WORKS = """
UPDATE works AS w SET title = n.title, authors = n.authors, year = n.year, tags = n.tags
FROM (VALUES
    (1, 'On Tea', 'A. Leaf, B. Pot', 2019, 'Green Tea, history'), (2, 'Bridges', 'Stone', 1987, 'tea'),
    (3, 'Undated', NULL::text, NULL::int, NULL::text)
) AS n (place, title, authors, year, tags)
WHERE w.id = (SELECT id FROM works ORDER BY id OFFSET n.place - 1 LIMIT 1)
"""


async def test_a_filter_leaves_the_works_that_have_all_of_it(connection: Connection) -> None:
    ids = [await store_corpus(connection, texts(1, first=number), name=f"corpus {number}") for number in (1, 2, 3)]
    await store_corpus(connection, texts(1, first=9), name="another")
    await connection.execute(WORKS)
    await connection.execute(
        "INSERT INTO works (corpus_id, title, source_path, markdown, content_hash, authors) "
        "VALUES ($1, 'Waits', 'w.md', '', 'w', 'Leaf')",
        ids[2],
    )
    for works, expected in [
        (WorkFilter(), [1, 2, 3]),
        (WorkFilter(author="LEAF"), [1]),
        (WorkFilter(author="a%"), []),
        (WorkFilter(title="tea"), [1]),
        (WorkFilter(tag="green tea"), [1]),
        (WorkFilter(tag="TEA"), [2]),
        (WorkFilter(year_from=1987), [1, 2]),
        (WorkFilter(year_from=1988, year_to=2019), [1]),
        (WorkFilter(year_to=1987), [2]),
        (WorkFilter(author="leaf", year_to=1987), []),
    ]:
        assert await matching_chunks(connection, ids, works) == expected
        count, searchable = await matching_works(connection, ids, works)

        assert searchable == len(expected)
        assert count - searchable == (works in (WorkFilter(), WorkFilter(author="LEAF")))
