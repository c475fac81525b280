"""The contract of every ChunkSearch. New ones are added to the list."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from schemas.errors import EmbeddingDimensionMismatchError, FailureCategory
from schemas.values.queries import Hit
from stages.ports import ChunkSearch
from store.corpora.chunk_search import PostgresChunkSearch
from store.database import Database
from tests.fakes.chunk_search import K1, B, InMemoryChunkSearch
from tests.refusals import failing
from tests.store.small_corpora import SearchableChunk, store_corpus

EAST, NORTH = np.array([[1, 0], [0, 1]], dtype=np.float32)
SCORERS = ("bm25", "websearch")

Searched: TypeAlias = Callable[[Sequence[SearchableChunk]], Awaitable[tuple[ChunkSearch, int]]]
"""Gives a search, and the id of a corpus of these chunks."""


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.servers)])
def searched(request: pytest.FixtureRequest) -> Searched:
    if request.param == "memory":

        async def in_memory(chunks: Sequence[SearchableChunk]) -> tuple[ChunkSearch, int]:
            return InMemoryChunkSearch({7: list(chunks)}), 7

        return in_memory
    database: Database = request.getfixturevalue("database")

    async def in_postgres(chunks: Sequence[SearchableChunk]) -> tuple[ChunkSearch, int]:
        async with database.connection() as connection:
            await store_corpus(connection, [SearchableChunk(999, "zebra", EAST)], name="other")
            return PostgresChunkSearch(database, k1=K1, b=B), await store_corpus(connection, chunks)

    return in_postgres


def texts(*contents: str) -> list[SearchableChunk]:
    return [SearchableChunk(number, content, EAST) for number, content in enumerate(contents, start=1)]


def placed(*vectors: NDArray[np.float32]) -> list[SearchableChunk]:
    return [SearchableChunk(number, "a text", vector) for number, vector in enumerate(vectors, start=1)]


def ids(hits: Sequence[Hit]) -> list[int]:
    return [hit.chunk_id for hit in hits]


async def test_dense_scores_are_cosines_best_first(searched: Searched) -> None:
    search, corpus = await searched(placed(-EAST, NORTH, 3 * EAST))

    (found,) = await search.dense([corpus], np.stack([EAST]), limit=10)

    assert found == [Hit(chunk_id=3, score=1.0), Hit(chunk_id=2, score=0.0), Hit(chunk_id=1, score=-1.0)]


async def test_each_vector_has_a_list_of_its_own_in_the_order_asked(searched: Searched) -> None:
    search, corpus = await searched(placed(EAST, NORTH))

    found = await search.dense([corpus], np.stack([NORTH, EAST, NORTH]), limit=1)

    assert [ids(hits) for hits in found] == [[2], [1], [2]]


async def test_of_equally_near_chunks_the_first_ids_are_kept(searched: Searched) -> None:
    search, corpus = await searched(list(reversed(placed(*[EAST] * 8))))

    (found,) = await search.dense([corpus], np.stack([EAST]), limit=3)

    assert ids(found) == [1, 2, 3]


async def test_the_order_is_that_of_exact_cosines(searched: Searched) -> None:
    numbers = np.random.default_rng(7)
    rows = numbers.normal(size=(60, 16)).astype(np.float32)
    query = numbers.normal(size=(1, 16)).astype(np.float32)
    search, corpus = await searched(placed(*rows))

    (found,) = await search.dense([corpus], query, limit=20)

    exact = rows @ query[0] / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)
    assert ids(found) == [int(position) + 1 for position in np.argsort(-exact)[:20]]
    np.testing.assert_allclose([hit.score for hit in found], np.sort(exact)[::-1][:20], atol=1e-6)


async def test_vectors_of_another_dimension_are_refused(searched: Searched) -> None:
    search, corpus = await searched(placed(EAST))

    with pytest.raises(EmbeddingDimensionMismatchError, match="Expected vectors of 2 dimensions, got 3"):
        await search.dense([corpus], np.ones((1, 3), dtype=np.float32), limit=1)


@pytest.mark.parametrize("scorer", SCORERS)
async def test_a_chunk_that_does_not_match_is_no_hit(searched: Searched, scorer: str) -> None:
    search, corpus = await searched(texts("green tea", "stone bridge", "tea"))

    found = await search.lexical([corpus], ["tea", "zebra", "bridge"], limit=10, scorer=scorer)

    assert [sorted(ids(hits)) for hits in found] == [[1, 3], [], [2]]
    assert all(hit.score > 0 for hits in found for hit in hits)


@pytest.mark.parametrize("scorer", SCORERS)
async def test_a_text_without_terms_finds_nothing(searched: Searched, scorer: str) -> None:
    search, corpus = await searched(texts("green tea"))

    assert await search.lexical([corpus], ["", "?!"], limit=10, scorer=scorer) == [[], []]


@pytest.mark.parametrize("scorer", SCORERS)
async def test_equal_scores_are_ordered_by_chunk_id_and_cut_after(searched: Searched, scorer: str) -> None:
    search, corpus = await searched(list(reversed(texts(*["green tea leaf"] * 6))))

    (found,) = await search.lexical([corpus], ["leaf tea"], limit=4, scorer=scorer)

    assert ids(found) == [1, 2, 3, 4]
    assert len({hit.score for hit in found}) == 1


@pytest.mark.parametrize(("scorer", "expected"), [("bm25", [1, 2]), ("websearch", [1])])
async def test_only_websearch_asks_for_every_term(searched: Searched, scorer: str, expected: list[int]) -> None:
    search, corpus = await searched(texts("green tea", "black tea", "bridge"))

    (found,) = await search.lexical([corpus], ["green tea"], limit=10, scorer=scorer)

    assert ids(found) == expected


async def test_quotes_and_backslashes_of_a_text_are_no_syntax(searched: Searched) -> None:
    search, corpus = await searched(texts("green tea"))

    text = r"it's \ 'tea' | ! & (x) <-> C:\dir\o'neill.txt"
    (found,) = await search.lexical([corpus], [text], limit=1, scorer="bm25")

    assert ids(found) == [1]


async def test_headings_above_a_chunk_are_searched_with_it(searched: Searched) -> None:
    search, corpus = await searched([SearchableChunk(1, "brewed hot", EAST, "Drinks > Tea")])

    assert [ids(hits) for hits in await search.lexical([corpus], ["tea"], limit=1, scorer="bm25")] == [[1]]


async def test_a_word_that_few_chunks_have_counts_more_than_one_that_many_have(searched: Searched) -> None:
    search, corpus = await searched(texts("tea cup", "tea pot", "tea leaf", "ginger cup", "sugar"))

    (found,) = await search.lexical([corpus], ["ginger tea"], limit=10, scorer="bm25")

    assert ids(found) == [4, 1, 2, 3]


async def test_an_unknown_scorer_is_named(searched: Searched) -> None:
    search, corpus = await searched(texts("tea"))

    with pytest.raises(ValueError, match="'ts_rank' is not a full-text scorer"):
        await search.lexical([corpus], ["tea"], limit=1, scorer="ts_rank")


@pytest.mark.parametrize("scorer", SCORERS)
async def test_nothing_is_found_in_an_empty_corpus(searched: Searched, scorer: str) -> None:
    search, corpus = await searched([])

    assert await search.dense([corpus], np.stack([EAST]), limit=5) == [[]]
    assert await search.lexical([corpus], ["tea"], limit=5, scorer=scorer) == [[]]


async def test_a_missing_corpus_is_named(searched: Searched) -> None:
    search, _ = await searched(texts("tea"))

    with failing(FailureCategory.CORPUS_MISSING, "Corpus 404 is not stored"):
        await search.dense([404], np.stack([EAST]), limit=1)
    with failing(FailureCategory.CORPUS_MISSING, "Corpus 404 is not stored"):
        await search.lexical([404], ["tea"], limit=1, scorer="bm25")


@pytest.mark.parametrize("scorer", SCORERS)
async def test_chosen_chunks_have_the_scores_of_the_search(searched: Searched, scorer: str) -> None:
    search, corpus = await searched(texts("green tea", "bridge", "tea tea tea", "tea leaf"))
    (hits,) = await search.lexical([corpus], ["tea"], limit=10, scorer=scorer)
    among_all = {hit.chunk_id: hit.score for hit in hits}

    chosen = await search.lexical_scores([corpus], "tea", [1, 2, 4, 999], scorer=scorer)

    assert chosen == {1: among_all[1], 4: among_all[4]}
    assert await search.lexical_scores([corpus], "tea", [], scorer=scorer) == {}
