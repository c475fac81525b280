"""Tables and figures searched, or kept only: what is found of them, and what that takes from other questions."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click

from benchmarks.machine import this_machine
from benchmarks.retrieval import PACKAGES, import_documents, paired
from benchmarks.retrieval_sets import Document, RetrievalSet, corpus_of, data_folder, public_set, write_queries
from benchmarks.stack import Stack, stack
from stages.corpora.blocks import BlockKind, read_markdown
from stages.queries.qrels_file import BEIR_HEADER

_SETS: Final = ("psychology-sections", "psychology-definitions")
_STAGES: Final = ("dense", "lexical", "fused")
_MOST_WORDS: Final = 12
_SHARE_OF_FIGURES: Final = 3
"""Of so many figures one is asked for."""


@click.command("table-search", short_help="Questions for tables and figures, with and without RAGQ_SEARCH_TABLES")
def table_search() -> None:
    """Import the psychology sections twice, with tables and figures searched and without, and search both.

    Nobody judged questions for tables, so they are made from the tables: the name of a column and the first cell of a
    row; of a figure the first words of its description. The section that has it is the one to find.

    Example:

    \b
        python -m benchmarks table-search
    """
    data = data_folder()
    documents, name_of = corpus_of(public_set(data, _SETS[0]).documents)
    with stack() as running:
        made = {"rows": row_queries(documents), "figures": [*figure_queries(documents)][::_SHARE_OF_FIGURES]}
        sets = {name: _written(running.folder / f"made-{name}", queries) for name, queries in made.items()}
        sets |= {name: public_set(data, name) for name in _SETS}
        files = {name: write_queries(one, name_of, running.folder / name) for name, one in sets.items()}
        before, after = (_reports(running, documents, files, searches=searches) for searches in ("false", "true"))
    click.echo(this_machine(PACKAGES).sentence())
    for name in files:
        for stage in _STAGES:
            difference = paired(before[name], after[name], (stage, stage))
            click.echo(
                f"{name} {stage}: recall@10 {_mean(before[name], stage, 'recall@10')} -> "
                f"{_mean(after[name], stage, 'recall@10')}, nDCG@10 {_mean(before[name], stage, 'ndcg@10')} -> "
                f"{_mean(after[name], stage, 'ndcg@10')}, difference {difference}"
            )


def row_queries(documents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """Text and section of a question for each row, about one column after the other."""
    for document in documents:
        for block in read_markdown(document.text).blocks:
            rows = [row for row in block.rows if sum(map(bool, row)) > 1]
            if block.kind is not BlockKind.TABLE or not rows:
                continue
            for number, row in enumerate(rows[1:]):
                column = 1 + number % (len(row) - 1)
                if rows[0][column] and row[0]:
                    yield f"{rows[0][column]} {_beginning(row[0])}", document.name


def figure_queries(documents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """Text and section of a question for each figure that has a description."""
    for document in documents:
        for block in read_markdown(document.text).blocks:
            if block.kind is BlockKind.FIGURE and block.rows[0][0]:
                yield _beginning(block.rows[0][0]), document.name


def _beginning(text: str) -> str:
    return " ".join(text.split()[:_MOST_WORDS])


def _written(folder: Path, queries: Iterable[tuple[str, str]]) -> RetrievalSet:
    folder.mkdir()
    found = RetrievalSet(folder, folder / "queries.jsonl", folder / "qrels.tsv")
    asked = [(f"q{number}", *query) for number, query in enumerate(queries)]
    found.queries.write_text("".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text, _ in asked))
    rows = [BEIR_HEADER, *((name, document, "1") for name, _, document in asked)]
    found.qrels.write_text("".join("\t".join(row) + "\n" for row in rows))
    return found


def _reports(
    running: Stack, documents: Sequence[Document], files: dict[str, RetrievalSet], *, searches: str
) -> dict[str, Any]:
    running.environment = {**running.environment, "RAGQ_SEARCH_TABLES": searches}
    corpus = import_documents(running, f"search-tables-{searches}", documents)
    content = running.asked("corpus", "show", corpus.name)
    click.echo(
        f"RAGQ_SEARCH_TABLES={searches}: imported in {corpus.import_s:.0f} s, {content['searchable']} chunks searched"
    )
    found = {}
    for name, one in files.items():
        asked = ["--queries", str(one.queries), "--qrels", str(one.qrels), "--corpus", corpus.name]
        found[name] = running.asked("report", running.ran(*asked, "--no-expand", "--until", "consolidate"))
    return found


def _mean(report: dict[str, Any], stage: str, measure: str) -> str:
    (found,) = (one for one in report["stages"] if one["stage"] == stage)
    return f"{found['measures'][measure]['value']:.3f} of {found['queries']}"
