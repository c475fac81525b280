"""Cells of a table, and captions and descriptions of figures, are found by full text."""

from dataclasses import replace

import numpy as np
import pytest

from stages.corpora.blocks import passage, read_markdown
from stages.corpora.cut import cut_work
from store.corpora import corpora, works
from store.corpora.chunk_search import PostgresChunkSearch
from store.corpora.keeping import keep
from store.database import Database
from tests.store.embedded import embed_and_publish
from tests.store.kept_works import new_work, small_corpus

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
        corpus = await small_corpus(connection)
        await keep(connection, corpus.id, replace(new_work(WORK), chunks=cut_work(document, title="Tea")))
        waiting = await corpora.waiting(connection, corpus.id)
        await embed_and_publish(connection, corpus.id, waiting, np.ones((len(waiting), 2), dtype=np.float32))
        ((first, *_),) = await PostgresChunkSearch(database, k1=1.2, b=0.75).lexical(
            [corpus.id], [query], limit=5, scorer="bm25"
        )
        found = (await works.by_ids(connection, [first.chunk_id]))[first.chunk_id]

    assert passage(document.lines, found.start_line, found.end_line) == shown
