"""Several corpora searched as if they were one, and the works that a filter leaves: scores to the last digit."""

from collections.abc import Sequence

import numpy as np
import pytest

from schemas.values.documents import WorkFilter
from schemas.values.queries import Hit
from store.corpora.chunk_search import PostgresChunkSearch, build_index, drop_index
from store.corpora.works import matching_chunks, matching_works
from store.database import Connection, Database
from tests.store.corpora.test_chunk_search import WORDS, move, texts
from tests.store.small_corpora import SearchableChunk, store_corpus

SCORERS = ("bm25", "websearch")
ASKED = ["teabo ginra", "stolu walmi", " ".join(WORDS), "unknown"]


def placed(count: int, first: int, seed: int) -> list[SearchableChunk]:
    """Chunks with words and vectors, numbered from `first`."""
    numbers = np.random.default_rng(seed)
    vectors = numbers.normal(size=(count, 8)).astype(np.float32)
    return [
        SearchableChunk(first + place, chunk.content, vector)
        for place, (chunk, vector) in enumerate(zip(texts(count, seed), vectors, strict=True))
    ]


def moved(chunks: Sequence[SearchableChunk], by: int) -> list[SearchableChunk]:
    return [SearchableChunk(chunk.id + by, chunk.content, chunk.vector) for chunk in chunks]


async def apart_and_together(connection: Connection) -> tuple[list[int], int]:
    """Two corpora, and one that has all of their chunks, with numbers that are higher by 1000."""
    small, large = placed(40, 1, seed=5), placed(110, 101, seed=6)
    apart = [await store_corpus(connection, small, name="small"), await store_corpus(connection, large, name="large")]
    together = await store_corpus(connection, moved(small, 1000), name="together")
    await move(connection, await store_corpus(connection, moved(large, 1000), name="rest"), together)
    return apart, together


def back(lists: list[list[Hit]]) -> list[list[Hit]]:
    return [[Hit(chunk_id=hit.chunk_id - 1000, score=hit.score) for hit in hits] for hits in lists]


@pytest.mark.parametrize("scorer", SCORERS)
async def test_full_text_of_several_corpora_has_the_scores_of_one_with_all_works(
    database: Database, scorer: str
) -> None:
    async with database.connection() as connection:
        apart, together = await apart_and_together(connection)
    search = PostgresChunkSearch(database, k1=0.9, b=0.4)

    for limit in (3, 25, 1000):
        expected = await search.lexical([together], ASKED, limit=limit, scorer=scorer)
        assert await search.lexical(apart, ASKED, limit=limit, scorer=scorer) == back(expected)
        assert await search.lexical(apart[::-1], ASKED, limit=limit, scorer=scorer) == back(expected)
    scores = await search.lexical_scores(apart, ASKED[2], [1, 2, 101, 102], scorer=scorer)
    assert scores == {
        id_ - 1000: score
        for id_, score in (
            await search.lexical_scores([together], ASKED[2], [1001, 1002, 1101, 1102], scorer=scorer)
        ).items()
    }
    # The statistics are those of both: alone, a corpus has other scores.
    if scorer == "bm25":
        alone = await search.lexical([apart[0]], ASKED[:1], limit=1000, scorer=scorer)
        assert alone[0] and not set(alone[0]) & set(
            (await search.lexical(apart, ASKED[:1], limit=1000, scorer=scorer))[0]
        )


@pytest.mark.parametrize("indexed", [0, 1, 2])
async def test_vectors_of_several_corpora_have_the_scores_of_one_with_all_works(
    database: Database, indexed: int
) -> None:
    async with database.connection() as connection:
        apart, together = await apart_and_together(connection)
        for corpus in apart[:indexed]:
            assert await build_index(connection, corpus)
    search = PostgresChunkSearch(database, k1=0.9, b=0.4)
    asked = np.random.default_rng(9).normal(size=(3, 8)).astype(np.float32)

    expected = back(await search.dense([together], asked, limit=12))

    assert await search.dense(apart, asked, limit=12) == expected
    assert [len(hits) for hits in expected] == [12] * 3
    async with database.connection() as connection:
        for corpus in apart[:indexed]:
            await drop_index(connection, corpus)


@pytest.mark.parametrize("is_indexed", [False, True])
async def test_chosen_chunks_have_the_scores_that_they_have_among_all(database: Database, is_indexed: bool) -> None:
    async with database.connection() as connection:
        corpus = await store_corpus(connection, placed(120, 1, seed=7))
        if is_indexed:
            assert await build_index(connection, corpus)
    search = PostgresChunkSearch(database, k1=0.9, b=0.4)
    asked = np.random.default_rng(9).normal(size=(2, 8)).astype(np.float32)
    chosen = list(range(3, 120, 7))

    for scorer in SCORERS:
        whole = await search.lexical([corpus], ASKED, limit=1000, scorer=scorer)
        found = await search.lexical([corpus], ASKED, limit=5, scorer=scorer, among=chosen)
        assert found == [[hit for hit in hits if hit.chunk_id in chosen][:5] for hits in whole]
    found = await search.dense([corpus], asked, limit=5, among=chosen)
    whole = await search.dense([corpus], asked, limit=1000, among=range(1, 121))
    assert found == [[hit for hit in hits if hit.chunk_id in chosen][:5] for hits in whole]
    assert [len(hits) for hits in found] == [5, 5]
    assert await search.dense([corpus], asked, limit=5, among=[]) == [[], []]
    async with database.connection() as connection:
        await drop_index(connection, corpus)


WORKS = """
UPDATE works AS w SET title = n.title, authors = n.authors, year = n.year, tags = n.tags
FROM (VALUES
    (1, 'On Tea', 'A. Leaf, B. Pot', 2019, 'Green Tea, history'), (2, 'Bridges', 'Stone', 1987, 'tea'),
    (3, 'Undated', NULL::text, NULL::int, NULL::text)
) AS n (place, title, authors, year, tags)
WHERE w.id = (SELECT id FROM works ORDER BY id OFFSET n.place - 1 LIMIT 1)
"""


async def test_a_filter_leaves_the_works_that_have_all_of_it(connection: Connection) -> None:
    ids = [
        await store_corpus(connection, placed(1, number, seed=number), name=f"corpus {number}") for number in (1, 2, 3)
    ]
    await store_corpus(connection, placed(1, 9, seed=9), name="another")
    await connection.execute(WORKS)
    await connection.execute(
        "INSERT INTO works (corpus_id, title, markdown, content_hash, authors) VALUES ($1, 'Waits', '', 'w', 'Leaf')",
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
