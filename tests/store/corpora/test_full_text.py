"""Chunks and questions are read in the language of their corpus; words of tables and figures are found too."""

from dataclasses import replace

import asyncpg
import numpy as np
import pytest

from stages.corpora.blocks import passage, read_markdown
from stages.corpora.cut import cut_work
from store.corpora import corpora, works
from store.corpora.chunk_search import PostgresChunkSearch
from store.corpora.keeping import NewWork, keep
from store.database import Connection, Database
from tests.store.embedded import embed_and_publish
from tests.store.kept_works import new_work

TEXTS = {
    "english": ("The leaves were drying for days.", "dry day", "leaves"),
    "german": ("Die Häuser standen an den Straßen der alten Städte.", "Haus Straße", "Häuser"),
    "french": ("Les chevaux couraient dans les prairies normandes.", "cheval prairie", "chevaux"),
    "russian": ("Высокие горы были покрыты снегами.", "гора снег", "горы"),
    "polish": ("Wysokie góry były pokryte śniegami.", "góry śniegami", "góry"),
    "japanese": ("tea 緑茶 の葉", "緑茶 tea", "緑茶"),
}


async def corpus_of(connection: Connection, language: str | None, work: NewWork) -> int:
    """A corpus in this language of one work, whose chunks can be found."""
    corpus = await corpora.make(
        connection, "works", backend="b", model="m", dimension=2, embeds_headings=True, language=language
    )
    await keep(connection, corpus.id, work)
    waiting = await corpora.waiting(connection, corpus.id)
    await embed_and_publish(connection, corpus.id, waiting, np.ones((len(waiting), 2), dtype=np.float32))
    return corpus.id


@pytest.mark.parametrize("language", TEXTS)
async def test_every_scorer_reads_texts_and_questions_by_the_dictionary_of_the_corpus(
    database: Database, language: str
) -> None:
    text, other_forms, same_form = TEXTS[language]
    async with database.connection() as connection:
        corpus_id = await corpus_of(connection, language, new_work(f"# Title\n\n{text}\n"))
    search = PostgresChunkSearch(database, k1=0.9, b=0.4)

    for scorer in ("bm25", "websearch"):
        for asked in (other_forms, same_form):
            (hits,) = await search.lexical([corpus_id], [asked], limit=5, scorer=scorer)
            assert len(hits) == 1, (scorer, asked)


async def test_chunks_are_not_stored_without_a_language(connection: Connection) -> None:
    with pytest.raises(asyncpg.RaiseError, match="has no language yet"):
        await corpus_of(connection, None, new_work())
    assert await connection.fetchval("SELECT count(*) FROM works") == 0


TABLE = "| tea | minutes |\n|---|---|\n| sencha | 2 |"
FIGURE = "![A kettle on a stove](kettle.png)"
WORK = f"# Tea\n\nTable 1: Steeping times\n\n{TABLE}\n\n{FIGURE}\n\nFig. 2: Boiling water\n"


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("minutes sencha", f"Table 1: Steeping times\n\n{TABLE}"),
        ("steeping sencha", f"Table 1: Steeping times\n\n{TABLE}"),
        ("kettle boiling", f"{FIGURE}\n\nFig. 2: Boiling water"),
    ],
)
async def test_tables_and_figures_are_found_and_their_lines_are_those_of_the_work(
    database: Database, query: str, shown: str
) -> None:
    document = read_markdown(WORK)
    async with database.connection() as connection:
        work = replace(new_work(WORK), chunks=cut_work(document, title="Tea"))
        corpus_id = await corpus_of(connection, "english", work)
        search = PostgresChunkSearch(database, k1=1.2, b=0.75)
        ((first, *_),) = await search.lexical([corpus_id], [query], limit=5, scorer="bm25")
        found = (await works.by_ids(connection, [first.chunk_id]))[first.chunk_id]

    assert passage(document.lines, found.start_line, found.end_line) == shown
