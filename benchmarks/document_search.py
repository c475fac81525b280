"""Sections of books searched through each format that the books were converted from, beside their markdown."""

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.bm25_baseline import bm25_ndcg
from benchmarks.document_books import key_of
from benchmarks.retrieval import import_documents, paired
from benchmarks.retrieval_sets import Document, RetrievalSet, query_set_of, write_queries
from benchmarks.stack import Stack
from schemas.values.metrics import Interval
from stages.corpora.blocks import read_markdown
from stages.corpora.cut import sections
from stages.corpora.lines import passage

STAGES: Final = ("dense", "lexical", "fused", "consolidated")


class Searched(NamedTuple):
    """One set of queries through one format."""

    documents: int
    """Sections that were found."""
    bm25: float
    """nDCG@10 of BM25 over whole sections, outside of ragq."""
    ndcg: dict[str, float]
    """nDCG@10 by list."""
    to_markdown: Interval | None
    """The difference of the fused list to that of the markdown."""


def sections_of(markdown: str, known: Sequence[Document]) -> list[Document]:
    """The known sections of a book as they are in its markdown: heading and own text.

    Sections agree by their titles, in order. What stands under another heading belongs to the section before it; a
    section whose heading is missing is missing.
    """
    document = read_markdown(markdown)
    found = sections(document, title="")
    left = [key_of(_last(one.title)) for one in known]
    right = [key_of(section.path[-1]) if section.path else "" for section in found]
    blocks = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
    names = {block.b + place: known[block.a + place] for block in blocks for place in range(block.size)}
    made: list[Document] = []
    for place, section in enumerate(found):
        text = "\n\n".join(passage(document.lines, block.start_line, block.end_line) for block in section.own)
        if place in names:
            made.append(Document(names[place].name, " > ".join(section.path), text))
        elif made:
            title = section.path[-1] if section.path else ""
            made[-1] = made[-1]._replace(text=f"{made[-1].text}\n\n{title}\n\n{text}".strip())
    return [one for one in made if one.text.strip()]


def by_book(documents: Sequence[Document], books: Sequence[str]) -> Iterator[list[Document]]:
    """The known sections of each book, which its first heading names."""
    for book in books:
        yield [one for one in documents if key_of(one.title.split(" > ")[0]) == key_of(book)]


def judged(files: RetrievalSet, names: set[str], folder: Path) -> RetrievalSet:
    """The queries all of whose sections are among these."""
    judgements: dict[str, list[tuple[str, int]]] = {}
    for one in query_set_of(files).judgements:
        judgements.setdefault(one.query_id, []).append((one.document, one.relevance))
    kept = {query: rows for query, rows in judgements.items() if {name for name, _ in rows} <= names}
    folder.mkdir(parents=True)
    queries = [
        line for line in files.queries.read_text(encoding="utf-8").splitlines() if json.loads(line)["_id"] in kept
    ]
    (folder / "queries.jsonl").write_text("\n".join(queries) + "\n", encoding="utf-8")
    lines = [f"{query}\t{name}\t{grade}" for query, rows in kept.items() for name, grade in rows]
    header = "query-id\tcorpus-id\tscore"
    (folder / "qrels.tsv").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return RetrievalSet(files.documents, folder / "queries.jsonl", folder / "qrels.tsv")


def search(
    running: Stack | None, by_format: Mapping[str, Sequence[Document]], sets: Mapping[str, RetrievalSet], folder: Path
) -> dict[str, dict[str, Searched]]:
    """Each set through each format, of which the first is markdown; without a stack by BM25 alone."""
    found: dict[str, dict[str, Searched]] = {name: {} for name in sets}
    reports: dict[str, dict[str, Any]] = {}
    for form, documents in by_format.items():
        if running is not None:
            import_documents(running, f"{form}-sections", documents)
        for name, files in sets.items():
            bm25 = bm25_ndcg(list(documents), query_set_of(files))
            if running is None:
                found[name][form] = Searched(len(documents), bm25, {}, None)
                continue
            written = write_queries(files, {}, folder / f"{name}-{form}")
            asked = ["--queries", str(written.queries), "--qrels", str(written.qrels), "--corpus", f"{form}-sections"]
            run = running.ran(*asked, "--no-expand", "--until", "consolidate")
            report = running.asked("report", run)
            first = reports.setdefault(name, report)
            ndcg = {one["stage"]: float(one["measures"]["ndcg@10"]["value"]) for one in report["stages"]}
            difference = None if first is report else paired(first, report, ("fused", "fused"))
            found[name][form] = Searched(len(documents), bm25, ndcg, difference)
    return found


def _last(title: str) -> str:
    return title.rsplit(" > ", 1)[-1]
