"""Segments of postings are merged beside searches, imports and replaced works, and lose nothing."""

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest

from store.corpora import corpora, keeping
from store.corpora import postings as stored_postings
from store.corpora.chunk_search import PostgresChunkSearch
from store.corpora.keeping import to_merge
from store.corpora.postings import CountedChunk, make_searchable, withdraw_work
from store.database import Connection, Database
from tests.store.scored import counted
from tests.store.small_corpora import embed_and_publish, embed_waiting, embedded, expected, postings, small_corpus

CHUNKS = 5
WORDS = ["tea", "tea", "bridge", "stone", "teapot", "clock", "river", "walnut"]

_WORK = """
INSERT INTO works (corpus_id, title, source_path, markdown, content_hash)
VALUES ($1, 'A work', 'A work.md', '', $2) RETURNING id
"""
_CHUNKS = """
INSERT INTO chunks (work_id, level, content, start_line, end_line, vector_status)
SELECT $1, 'H1-chunk', text, 1, 1, 'to_vec' FROM unnest($2::text[]) AS text RETURNING id
"""


@pytest.fixture
async def wide(database_url: str) -> AsyncIterator[Database]:
    """A database with a connection for everybody."""
    async with Database(database_url, pool_size=10) as opened:
        yield opened


async def store_work(connection: Connection, corpus_id: int, number: int) -> tuple[int, list[int]]:
    """A work whose chunks wait for vectors: its id and theirs."""
    work_id = await connection.fetchval(_WORK, corpus_id, f"hash {number}")
    words = random.Random(number)
    texts = [" ".join(words.choices(WORDS, k=6)) + f" only{number}" for _ in range(CHUNKS)]
    return work_id, [row["id"] for row in await connection.fetch(_CHUNKS, work_id, texts)]


async def published(connection: Connection, count: int) -> tuple[int, list[int]]:
    """A corpus with works in a segment each: its id and theirs."""
    corpus = await small_corpus(connection)
    made = [await store_work(connection, corpus.id, number) for number in range(count)]
    for _, chunk_ids in made:
        await embed_and_publish(connection, corpus.id, chunk_ids, np.ones((CHUNKS, 2)))
    return corpus.id, [work_id for work_id, _ in made]


async def withdrawn(connection: Connection, work_id: int) -> None:
    async with connection.transaction():
        await withdraw_work(connection, work_id)


async def assert_whole(connection: Connection, corpus_id: int) -> None:
    """Every posting of every chunk with a vector is there once, and the counts are right."""
    found = await postings(connection)
    assert found == await expected(connection)
    stored = await corpora.corpus(connection, corpus_id)
    vectors = await connection.fetchval("SELECT count(*) FROM chunk_vector")
    live = await connection.fetchval("SELECT coalesce(sum(live), 0) FROM posting_segment")
    assert (stored.searchable_chunks, live) == (vectors, vectors)


def segments(*sizes: int) -> list[tuple[int, int, int]]:
    return [(number, size, size) for number, size in enumerate(sizes, start=1)]


def test_segments_of_a_size_are_merged_as_far_as_one_holds_them() -> None:
    for stored, merged in [
        (segments(), []),
        (segments(*[64] * 15), []),
        (segments(*[64] * 17), list(range(1, 17))),
        (segments(*[64] * 15, *[300] * 15, *[9000] * 40), []),
        (segments(*[7] * 8, 5000, *[7] * 8), [*range(1, 9), *range(10, 18)]),
        (segments(4000, 4000, 4000, 4000, 4000, 64), [1, 2, 3, 4]),
        ([*segments(64, 64), (3, 100, 50), (4, 100, 49)], [4]),
        ([(1, 5, 0)], [1]),
    ]:
        assert to_merge(stored) == merged


async def test_merging_keeps_every_posting_and_removes_what_was_withdrawn(connection: Connection) -> None:
    corpus_id, work_ids = await published(connection, 19)
    for work_id in work_ids[:3]:
        await withdrawn(connection, work_id)
    assert await counted(connection, "posting_segment") == [19]

    await keeping.merge(connection, corpus_id)

    assert [tuple(row) for row in await connection.fetch("SELECT chunks, live FROM posting_segment")] == [(80, 80)]
    assert await connection.fetchval("SELECT count(*) FROM posting WHERE 'only0' = ANY(terms)") == 0
    await assert_whole(connection, corpus_id)
    for work_id in work_ids[3:]:
        await withdrawn(connection, work_id)
    await keeping.merge(connection, corpus_id)
    assert await counted(connection, "posting_segment") == [0]
    await assert_whole(connection, corpus_id)


async def test_imports_and_merges_side_by_side_lose_nothing(wide: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "_MERGED_AT_ONCE", 2)
    search = PostgresChunkSearch(wide, k1=0.9, b=0.4)
    async with wide.connection() as connection:
        corpus = await small_corpus(connection)
        made = [await store_work(connection, corpus.id, number) for number in range(24)]
        attempts = [await embedded(connection, np.ones((CHUNKS, 2))) for _ in made]
    is_done = asyncio.Event()

    async def import_batches(numbers: Sequence[int]) -> None:
        for number in numbers:
            work_id, chunk_ids = made[number]
            async with wide.connection() as connection:
                await keeping.merge(connection, corpus.id)
                await make_searchable(connection, corpus.id, chunk_ids, attempts[number])
                if number % 3 == 0:
                    await withdrawn(connection, work_id)
                    await make_searchable(connection, corpus.id, chunk_ids, attempts[number])

    async def ask() -> int:
        searches = 0
        while not is_done.is_set():
            (hits,) = await search.lexical([corpus.id], ["tea bridge clock"], limit=1000, scorer="bm25")
            assert len({chunk_id for chunk_id, _ in hits}) == len(hits)
            searches += 1
        return searches

    async with asyncio.timeout(120):
        asking = asyncio.create_task(ask())
        # Every batch is delivered twice, at about the same time.
        await asyncio.gather(*(import_batches(range(first, 24, 4)) for first in (0, 1, 2, 3, 0, 1, 2, 3)))
        is_done.set()
        assert await asking > 0

    async with wide.connection() as connection:
        await keeping.merge(connection, corpus.id)
        await assert_whole(connection, corpus.id)
        assert (await corpora.corpus(connection, corpus.id)).searchable_chunks == 24 * CHUNKS
        assert (await counted(connection, "posting_segment"))[0] < 8


async def test_a_merge_waits_for_no_batch_and_is_left_to_the_next_one_while_a_work_is_replaced(wide: Database) -> None:
    async with wide.connection() as writing, wide.connection() as other, asyncio.timeout(20):
        corpus_id, work_ids = await published(writing, 17)
        await store_work(writing, corpus_id, 17)
        async with writing.transaction():
            await withdraw_work(writing, work_ids[0])
            await keeping.merge(other, corpus_id)
            assert await counted(other, "posting_segment") == [17]
        await assert_whole(other, corpus_id)
        async with writing.transaction():
            await embed_waiting(writing, corpus_id)
            await keeping.merge(other, corpus_id)
            assert await counted(other, "posting_segment") == [1]
        assert await counted(other, "posting_segment") == [2]
        await assert_whole(other, corpus_id)


async def test_a_work_replaced_during_a_merge_is_not_in_it(wide: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    has_read, may_write = threading.Event(), threading.Event()
    postings_of = stored_postings.postings_of

    def slowly(chunks: Sequence[CountedChunk]) -> dict[str, tuple[bytearray, bytearray]]:
        has_read.set()
        assert may_write.wait(20)
        return postings_of(chunks)

    async with wide.connection() as merger, wide.connection() as replacing, asyncio.timeout(20):
        corpus_id, work_ids = await published(merger, 16)
        monkeypatch.setattr(stored_postings, "postings_of", slowly)
        merge = asyncio.create_task(keeping.merge(merger, corpus_id))
        await asyncio.to_thread(has_read.wait, 20)
        replacement = asyncio.create_task(withdrawn(replacing, work_ids[0]))
        _, waiting = await asyncio.wait([replacement], timeout=0.3)
        may_write.set()
        await merge

        assert waiting == {replacement}
        await replacement
        await assert_whole(replacing, corpus_id)
