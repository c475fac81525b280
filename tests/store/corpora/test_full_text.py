"""Chunks and questions are read in the language of their corpus; words of tables and figures are found too."""

from dataclasses import replace

import asyncpg
import pytest

from stages.corpora.blocks import passage, read_markdown
from stages.corpora.cut import cut_work
from store.corpora import works
from store.corpora.chunk_search import PostgresChunkSearch
from store.corpora.keeping import NewWork, keep
from store.database import Connection, Database
from tests.store.embedded import embed_waiting
from tests.store.kept_works import new_work, small_corpus

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
    corpus = await small_corpus(connection, language=language)
    await keep(connection, corpus.id, work)
    await embed_waiting(connection, corpus.id)
    return corpus.id


@pytest.mark.parametrize("language", TEXTS)
async def test_every_scorer_reads_by_the_dictionary_of_the_corpus(database: Database, language: str) -> None:
    text, other_forms, same_form = TEXTS[language]
    corpus_id = await database.once(corpus_of, language, new_work(f"# Title\n\n{text}\n"))
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


async def test_tables_and_figures_are_found_with_lines_of_the_work(database: Database, connection: Connection) -> None:
    document = read_markdown(WORK)
    work = replace(new_work(WORK), chunks=cut_work(document, title="Tea"))
    corpus_id = await corpus_of(connection, "english", work)
    search = PostgresChunkSearch(database, k1=1.2, b=0.75)
    for query, shown in [
        ("minutes sencha", f"Table 1: Steeping times\n\n{TABLE}"),
        ("steeping sencha", f"Table 1: Steeping times\n\n{TABLE}"),
        ("kettle boiling", f"{FIGURE}\n\nFig. 2: Boiling water"),
    ]:
        ((first, *_),) = await search.lexical([corpus_id], [query], limit=5, scorer="bm25")
        found = (await works.by_ids(connection, [first.chunk_id]))[first.chunk_id]

        assert (query, passage(document.lines, found.start_line, found.end_line)) == (query, shown)
