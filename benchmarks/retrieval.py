"""The retrieval quality of ragq, ranking by ranking, compared with BM25; and retrieval sets as ragq reads them."""

import json
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, Final, NamedTuple

import bm25s
import click
import numpy as np
import Stemmer

from benchmarks.common import Memory, Stack, data_folder, show, show_machine, stack
from schemas.values.differences import RetrievalMeasures
from schemas.values.metrics import Interval
from schemas.values.queries import QuerySet
from stages.metrics.bootstrap import mean_intervals
from stages.metrics.selective import measure_rankings
from stages.queries.query_files import BEIR_HEADER, MAX_CHARS, read_query_set

#: The documents and the folder of `queries.jsonl` and `qrels.tsv`, below the folder of public data.
SETS: Final = {
    "scifact": ("scifact/corpus.jsonl", "scifact"),
    "psychology-sections": ("psychology/sections.jsonl", "psychology/sections"),
    "psychology-definitions": ("psychology/sections.jsonl", "psychology/definitions"),
}
#: The values of Anserini, which ragq searches with too.
K1, B = 0.9, 0.4

_NDCG: Final = "ndcg@10"
_CUTOFF: Final = 10
_FILE_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")


class RetrievalSet(NamedTuple):
    """The files of a set."""

    documents: Path
    queries: Path
    qrels: Path

    def read(self) -> QuerySet:
        """Its queries and judgements."""
        queries = "\n".join(json.dumps(query, ensure_ascii=False) for query in _queries(self.queries))
        files = {"queries_file": str(self.queries), "qrels_file": str(self.qrels)}
        return read_query_set(queries.encode(), self.qrels.read_bytes(), **files)


class Document(NamedTuple):
    """One document of a set: one work."""

    name: str
    title: str
    text: str

    @property
    def markdown(self) -> str:
        """The title as its only heading."""
        return f"# {' '.join(self.title.split())}\n\n{self.text}\n"


class Works(NamedTuple):
    """The documents of a set as works."""

    documents: list[Document]
    """Each text once."""
    name_of: dict[str, str]
    """The name of the work that has a document's text, by the document's id. Documents without text have none."""


@click.command(short_help="Retrieval quality, ranking by ranking, compared with BM25")
@click.argument("names", metavar="[SET]...", nargs=-1, type=click.Choice(list(SETS)))
@click.option(
    "--data",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A folder in BEIR's layout: corpus.jsonl, queries.jsonl, and qrels/test.tsv or qrels.tsv. May be repeated.",
)
@click.option("--preset", help="A preset; the default one unless named.")
@click.option("--set", "values", multiple=True, metavar="NAME=VALUE", help="A value of the preset, or a setting.")
def retrieval(names: tuple[str, ...], folders: tuple[Path, ...], preset: str | None, values: tuple[str, ...]) -> None:
    """Import retrieval sets into a stack of its own, search for their queries, and compare with BM25 by bm25s.

    SET names a set of RAGQ_DATA_DIR, --data any folder; without both, all sets of RAGQ_DATA_DIR are run. Documents that
    two sets share are imported once, and documents with equal text are one work.

    \b
    Example:
        python -m benchmarks retrieval psychology-sections
        python -m benchmarks retrieval --data ~/beir/nfcorpus --preset Original
        python -m benchmarks retrieval scifact --set reranking.ranker=cross-encoder --set reranking.model=FOLDER
    """
    show_machine("sentence-transformers", "bm25s", "ir-measures", "pgvector")
    sets = {folder.resolve().name: beir_set(folder) for folder in folders}
    if names or not folders:
        sets |= {name: public_set(name) for name in names or SETS}
    options = [argument for value in values for argument in ("--set", value)]
    options += ["--preset", preset] if preset else []
    corpora: dict[Path, str] = {}
    with stack() as running:
        for name, files in sets.items():
            documents, name_of = works_of(files.documents)
            if files.documents not in corpora:
                corpora[files.documents] = f"{name}-documents"
                import_documents(running, corpora[files.documents], documents)
            asked = write_queries(files, name_of, running.folder / f"{name}-queries")
            began = time.monotonic()
            report = searched(running, asked, corpora[files.documents], *options)
            queries, seconds = report["counts"]["submitted"], time.monotonic() - began
            rows = [(one["stage"], one["queries"], *_row(report, one)) for one in report["stages"]]
            show(
                f"{name}: {queries} queries in {seconds:.0f} s",
                ("", "queries", "nDCG@10", "95 %", "- fused", "95 %", "recall@10", "recall", "MRR@10"),
                [("BM25 of whole documents", queries, f"{bm25_ndcg(documents, files.read()):.4f}"), *rows],
            )


def public_set(name: str) -> RetrievalSet:
    """A set of the folder of public data."""
    data = data_folder()
    documents, queries = SETS[name]
    return RetrievalSet(data / documents, data / queries / "queries.jsonl", data / queries / "qrels.tsv")


def beir_set(folder: Path) -> RetrievalSet:
    """A set in BEIR's layout. Raises ClickException with the files that are missing."""
    judged = [folder / "qrels" / "test.tsv", folder / "qrels.tsv"]
    qrels = next((file for file in judged if file.is_file()), judged[0])
    found = RetrievalSet(folder / "corpus.jsonl", folder / "queries.jsonl", qrels)
    if missing := [str(file.relative_to(folder)) for file in found if not file.is_file()]:
        raise click.ClickException(f"{folder} is no BEIR folder: it has no {', '.join(missing)}.")
    return found


def documents_of(file: Path) -> Iterator[Document]:
    """The documents of a corpus file, in its order."""
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield Document(str(row["_id"]), row.get("title") or "", row["text"])


def works_of(file: Path) -> Works:
    """The documents as works: equal texts become one, and an id that cannot name a file becomes its number."""
    works: dict[str, Document] = {}
    name_of = {}
    for number, document in enumerate(documents_of(file), start=1):
        if not document.markdown.strip("# \n"):
            continue
        name = document.name if _FILE_NAME.fullmatch(document.name) else f"document-{number}"
        name_of[document.name] = works.setdefault(document.markdown, document._replace(name=name)).name
    return Works(list(works.values()), name_of)


def write_queries(files: RetrievalSet, name_of: dict[str, str], folder: Path) -> RetrievalSet:
    """Write `queries.jsonl` and `qrels.tsv`, with works instead of documents, and return the set with these files.

    Queries without judgement are left out, and those that are longer than a query may be are cut. A work with the text
    of several documents has the highest of their judgements.
    """
    judged: dict[tuple[str, str], int] = {}
    for judgement in files.read().judgements:
        key = judgement.query_id, name_of.get(judgement.document, judgement.document)
        judged[key] = max(judgement.relevance, judged.get(key, judgement.relevance))
    ids = {query for query, _ in judged}
    folder.mkdir(parents=True)
    lines = [json.dumps(query, ensure_ascii=False) for query in _queries(files.queries) if query["_id"] in ids]
    (folder / "queries.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [BEIR_HEADER, *((query, work, str(relevance)) for (query, work), relevance in judged.items())]
    (folder / "qrels.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return RetrievalSet(files.documents, folder / "queries.jsonl", folder / "qrels.tsv")


def write_works(documents: Sequence[Document], folder: Path) -> None:
    """Write one markdown file per document."""
    folder.mkdir(parents=True)
    for document in documents:
        (folder / f"{document.name}.md").write_text(document.markdown, encoding="utf-8")


def import_documents(running: Stack, name: str, documents: Sequence[Document]) -> None:
    """Make a corpus of these documents, and say what that took."""
    works = running.folder / name
    write_works(documents, works)
    began = time.monotonic()
    with Memory(running) as memory:
        running.ragq("import", "works", str(works), "--corpus", name, "--wait")
    seconds = time.monotonic() - began
    click.echo(f"{name}: {len(documents)} works imported in {seconds:.0f} s; the stack took {memory.peak_mb:.0f} MB.")


def searched(running: Stack, asked: RetrievalSet, corpus: str, *options: str) -> dict[str, Any]:
    """The report of a run that searched a corpus for the queries of a set."""
    files = ("--queries", str(asked.queries), "--qrels", str(asked.qrels))
    run = running.ran(*files, "--corpus", corpus, "--no-expand", "--until", "consolidate", *options)
    report: dict[str, Any] = running.asked("report", run)
    return report


def paired(left: dict[str, Any], right: dict[str, Any], stages: tuple[str, str]) -> tuple[str, str]:
    """The mean over queries of nDCG@10 of a ranking of the right report, less that of one of the left report, and its
    95 % interval, in words; queries are resampled as in reports."""
    before = {query["query"]: query["stages"].get(stages[0]) for query in left["queries"]}
    after = {query["query"]: query["stages"].get(stages[1]) for query in right["queries"]}
    rows = [[after[key][_NDCG] - old[_NDCG]] for key, old in before.items() if old and after.get(key)]
    if not rows:
        return "", ""
    measures = RetrievalMeasures()
    (found,) = mean_intervals(rows, columns=1, resamples=measures.bootstrap_resamples, seed=measures.bootstrap_seed)
    return f"{found.value:+.4f}", _bounds(found, sign="+")


def bm25_ndcg(documents: Sequence[Document], queries: QuerySet) -> float:
    """Mean nDCG@10 of BM25 over whole documents, of the queries with a relevant one; stemmed, without stop words."""
    stemmer = Stemmer.Stemmer("english")

    def tokens(texts: list[str]) -> list[list[str]]:
        options = {"stopwords": "en", "stemmer": stemmer, "return_ids": False, "show_progress": False}
        found: list[list[str]] = bm25s.tokenize(texts, **options)
        return found

    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    index.index(tokens([document.markdown for document in documents]), show_progress=False)
    relevance: dict[str, dict[str, int]] = {}
    for judgement in queries.judgements:
        relevance.setdefault(judgement.query_id, {})[judgement.document] = judgement.relevance
    judged = [query for query in queries.queries if max(relevance.get(query.external_id, {"": 0}).values()) > 0]
    rankings = {}
    for query, words in zip(judged, tokens([query.text for query in judged]), strict=True):
        scores = index.get_scores(words) if words else np.zeros(len(documents))
        best = np.argsort(-scores, kind="stable")[:_CUTOFF]
        rankings[query.external_id] = [documents[place].name for place in best if scores[place] > 0]
    measured = measure_rankings(rankings, relevance, cutoff=_CUTOFF)
    return mean(found[_NDCG] for found in measured.values())


def _row(report: dict[str, Any], stage: dict[str, Any]) -> tuple[str, ...]:
    measures = stage["measures"]
    ndcg = Interval(**measures[_NDCG])
    values = (f"{measures[name]['value']:.4f}" for name in ("recall@10", "recall", "mrr@10"))
    return f"{ndcg.value:.4f}", _bounds(ndcg), *paired(report, report, ("fused", stage["stage"])), *values


def _bounds(found: Interval, *, sign: str = "") -> str:
    return "" if found.low is None else f"{found.low:{sign}.4f} to {found.high:{sign}.4f}"


def _queries(file: Path) -> Iterator[dict[str, str]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield {"_id": str(row["_id"]), "text": row["text"].strip()[:MAX_CHARS]}
