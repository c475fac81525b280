"""Which chunks a search finds, in which order, with which scores, and in which language."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import asyncpg
import numpy as np
import pytest

from schemas.errors import EmbeddingDimensionMismatchError, FailureCategory
from schemas.values.queries import Hit
from stages.corpora.blocks import passage, read_markdown
from stages.corpora.cut import cut_work
from store.corpora import works
from store.corpora.chunk_search import PostgresChunkSearch
from store.corpora.keeping import keep
from store.database import Connection, Database
from tests.refusals import failing
from tests.store.small_corpora import SearchableChunk, embed_waiting, new_work, small_corpus, store_corpus

EAST, NORTH = np.array([[1, 0], [0, 1]], dtype=np.float32)
SCORERS = ("bm25", "websearch")

Searched: TypeAlias = Callable[[Sequence[SearchableChunk]], Awaitable[tuple[PostgresChunkSearch, int]]]
"""Gives a search, and the id of a corpus of these chunks."""


@pytest.fixture
def searched(database: Database) -> Searched:
    async def stored(chunks: Sequence[SearchableChunk]) -> tuple[PostgresChunkSearch, int]:
        async with database.connection() as connection:
            await store_corpus(connection, [SearchableChunk(999, "zebra", EAST)], name="other")
            return PostgresChunkSearch(database, k1=0.9, b=0.4), await store_corpus(connection, chunks)

    return stored


def texts(*contents: str) -> list[SearchableChunk]:
    return [SearchableChunk(number, content, EAST) for number, content in enumerate(contents, start=1)]


def ids(hits: Sequence[Hit]) -> list[int]:
    return [chunk_id for chunk_id, _ in hits]


async def test_dense_scores_are_cosines_best_first_in_a_list_for_each_vector(searched: Searched) -> None:
    vectors = enumerate((-EAST, NORTH, 3 * EAST, EAST, EAST), start=1)
    search, corpus = await searched([SearchableChunk(number, "a text", vector) for number, vector in vectors][::-1])

    first, second = await search.dense([corpus], np.stack([EAST, NORTH]), limit=10)
    ((best, _), *_) = await search.dense([corpus], np.stack([EAST, NORTH]), limit=2)

    scores = {3: 1.0, 4: 1.0, 5: 1.0, 2: 0.0, 1: -1.0}
    assert first == [*scores.items()]
    assert (ids(second), best) == ([2, 1, 3, 4, 5], first[0])


DRINKS = texts("green tea", "stone bridge", "tea")


@pytest.mark.parametrize(
    ("chunks", "scorers", "asked", "limit", "expected"),
    [
        (DRINKS, SCORERS, ["bridge", "zebra", "green"], 10, [[2], [], [1]]),
        (DRINKS, SCORERS, ["", "?!"], 10, [[], []]),
        (list(reversed(texts(*["green tea leaf"] * 6))), SCORERS, ["leaf tea"], 4, [[1, 2, 3, 4]]),
        (texts("green tea", "black tea", "bridge"), ["bm25"], ["green tea"], 10, [[1, 2]]),
        (texts("green tea", "black tea", "bridge"), ["websearch"], ["green tea"], 10, [[1]]),
        (texts("green tea"), ["bm25"], [r"it's \ 'tea' | ! & (x) <-> C:\dir\o'neill.txt"], 1, [[1]]),
        ([SearchableChunk(1, "brewed hot", EAST, "Drinks > Tea")], ["bm25"], ["tea"], 1, [[1]]),
        (texts("tea cup", "tea pot", "tea leaf", "ginger cup", "sugar"), ["bm25"], ["ginger tea"], 10, [[4, 1, 2, 3]]),
        ([], SCORERS, ["tea"], 5, [[]]),
    ],
    ids=[
        *("what does not match is no hit", "no terms", "equal scores are ordered by id and cut after"),
        *("any term for BM25", "every term for websearch", "quotes and backslashes are no syntax", "headings above"),
        *("a rare word counts more", "an empty corpus"),
    ],
)
async def test_full_text_finds_the_best_chunks(
    searched: Searched, chunks: Any, scorers: Sequence[str], asked: list[str], limit: int, expected: list[list[int]]
) -> None:
    search, corpus = await searched(chunks)

    for scorer in scorers:
        found = await search.lexical([corpus], asked, limit=limit, scorer=scorer)
        assert [ids(hits) for hits in found] == expected
        assert all(score > 0 for hits in found for _, score in hits)
    assert chunks or await search.dense([corpus], np.stack([EAST]), limit=5) == [[]]


async def test_what_cannot_be_searched_is_named(searched: Searched) -> None:
    search, corpus = await searched(texts("tea"))

    assert await search.dense([corpus], EAST[None], limit=0) == [[]]
    with pytest.raises(EmbeddingDimensionMismatchError, match="Expected vectors of 2 dimensions, got 3"):
        await search.dense([corpus], np.ones((1, 3), dtype=np.float32), limit=1)
    with failing(FailureCategory.CORPUS_MISSING, "Corpus 404 is not stored"):
        await search.dense([404], np.stack([EAST]), limit=1)
    with failing(FailureCategory.CORPUS_MISSING, "Corpus 404 is not stored"):
        await search.lexical([404], ["tea"], limit=1, scorer="bm25")


TEXTS = {
    "english": ("The leaves were drying for days.", "dry day", "leaves"),
    "german": ("Die Häuser standen an den Straßen der alten Städte.", "Haus Straße", "Häuser"),
    "french": ("Les chevaux couraient dans les prairies normandes.", "cheval prairie", "chevaux"),
    "russian": ("Высокие горы были покрыты снегами.", "гора снег", "горы"),
    "polish": ("Wysokie góry były pokryte śniegami.", "góry śniegami", "góry"),
    "japanese": ("tea 緑茶 の葉", "緑茶 tea", "緑茶"),
}


async def corpus_of(connection: Connection, language: str | None, work: dict[str, Any]) -> int:
    """A corpus in this language of one work, whose chunks can be found."""
    corpus = await small_corpus(connection, f"in {language}", language=language)
    await keep(connection, corpus.id, **work)
    await embed_waiting(connection, corpus.id)
    return corpus.id


async def test_every_scorer_reads_by_the_dictionary_of_the_corpus(database: Database) -> None:
    search = PostgresChunkSearch(database, k1=0.9, b=0.4)
    for language, (text, *asked) in TEXTS.items():
        corpus_id = await database.once(corpus_of, language, new_work(f"# Title\n\n{text}\n"))
        for scorer in SCORERS:
            found = await search.lexical([corpus_id], asked, limit=5, scorer=scorer)
            assert (language, scorer, [len(hits) for hits in found]) == (language, scorer, [1, 1])


async def test_chunks_are_not_stored_without_a_language(connection: Connection) -> None:
    with pytest.raises(asyncpg.RaiseError, match="has no language yet"):
        await corpus_of(connection, None, new_work())
    assert await connection.fetchval("SELECT count(*) FROM works") == 0


TABLE = "| tea | minutes |\n|---|---|\n| sencha | 2 |"
FIGURE = "![A kettle on a stove](kettle.png)"
WORK = f"# Tea\n\nTable 1: Steeping times\n\n{TABLE}\n\n{FIGURE}\n\nFig. 2: Boiling water\n"


async def test_tables_and_figures_are_found_with_lines_of_the_work(database: Database, connection: Connection) -> None:
    document = read_markdown(WORK)
    work = new_work(WORK) | {"chunks": cut_work(document, title="Tea")}
    corpus_id = await corpus_of(connection, "english", work)
    search = PostgresChunkSearch(database, k1=1.2, b=0.75)
    for query, shown in [
        ("minutes sencha", f"Table 1: Steeping times\n\n{TABLE}"),
        ("steeping sencha", f"Table 1: Steeping times\n\n{TABLE}"),
        ("kettle boiling", f"{FIGURE}\n\nFig. 2: Boiling water"),
    ]:
        ((first, *_),) = await search.lexical([corpus_id], [query], limit=5, scorer="bm25")
        found = (await works.by_ids(connection, [first[0]]))[first[0]]

        assert (query, passage(document.lines, found.start_line, found.end_line)) == (query, shown)
