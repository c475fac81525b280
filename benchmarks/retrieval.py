"""The retrieval quality of ragq, ranking by ranking, compared with BM25; and retrieval sets as ragq reads them."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, Final, NamedTuple

import bm25s
import click
import numpy as np
import Stemmer

from benchmarks.common import Memory, Stack, data_folder, show, show_machine, stack
from schemas.values.differences import RetrievalMeasures
from schemas.values.requests import SubmittedQuery
from schemas.values.scoring import Interval
from stages.corpora.works import parse_corpus
from stages.metrics.bootstrap import mean_intervals
from stages.metrics.selective import measure_rankings
from stages.queries.query_files import MAX_CHARS, read_query_set
from stages.records import accept

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


class RetrievalSet(NamedTuple):
    """The files of a set, in BEIR's formats."""

    documents: Path
    queries: Path
    qrels: Path

    def read(self) -> Sequence[SubmittedQuery]:
        """Its queries and judgements. Queries that are longer than a query may be are cut."""
        rows = map(json.loads, self.queries.read_text(encoding="utf-8").splitlines())
        lines = (json.dumps({"_id": str(row["_id"]), "text": row["text"].strip()[:MAX_CHARS]}) for row in rows)
        files = {"queries_file": str(self.queries), "qrels_file": str(self.qrels)}
        found, _ = read_query_set("\n".join(lines).encode(), self.qrels.read_bytes(), **files)
        return found


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
    two sets share are imported once. Of documents with equal text the first alone is imported, and only queries with a
    judgement are asked.

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
            if files.documents not in corpora:
                corpora[files.documents] = f"{name}-documents"
                import_documents(running, corpora[files.documents], files.documents)
            asked = running.folder / f"{name}.jsonl"
            asked.write_text("\n".join(map(json.dumps, judged_queries(files.read()))), encoding="utf-8")
            submission = ("--queries", str(asked), "--qrels", str(files.qrels), "--corpus", corpora[files.documents])
            began = time.monotonic()
            run = running.ran(*submission, "--no-expand", "--until", "consolidate", *options)
            report = running.asked("report", run)
            queries, seconds = report["counts"]["submitted"], time.monotonic() - began

            rows = [(one["stage"], one["queries"], *_row(report, one)) for one in report["stages"]]
            show(
                f"{name}: {queries} queries in {seconds:.0f} s",
                ("", "queries", "nDCG@10", "95 %", "- fused", "95 %", "recall@10", "recall", "MRR@10"),
                [
                    (
                        "BM25 of whole documents",
                        queries,
                        f"{bm25_ndcg(documents_of(files.documents), files.read()):.4f}",
                    ),
                    *rows,
                ],
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


def documents_of(file: Path) -> dict[str, str]:
    """The documents of a corpus file by their ids, as the markdown that is imported."""
    return {line.id: line.markdown for line in accept(parse_corpus(file.read_bytes(), file=str(file))) if line.markdown}


def judged_queries(queries: Sequence[SubmittedQuery]) -> Iterator[dict[str, str]]:
    """The queries that have a judgement, as lines of a file of queries."""
    return ({"id": one.id, "text": one.text} for one in queries if one.judgements)


def import_documents(running: Stack, name: str, documents: Path) -> None:
    """Make a corpus of these documents, and say what that took."""
    began = time.monotonic()
    with Memory(running) as memory:
        # Exit code 1: of equal texts all but the first are refused.
        running.ragq("import", "works", str(documents), "--corpus", name, "--wait", allowed=(0, 1))
    seconds = time.monotonic() - began
    works = running.asked("corpus", "show", name)["works"]["total"]
    click.echo(f"{name}: {works} works imported in {seconds:.0f} s; the stack took {memory.peak_mb:.0f} MB.")


def differences(report: dict[str, Any], stage: str, other: str = "fused") -> tuple[str, str]:
    """The mean over queries of nDCG@10 of a ranking less that of another, and its 95 % interval, in words; queries are
    resampled as in reports."""
    stages = [query["stages"] for query in report["queries"]]
    rows = [[one[stage][_NDCG] - one[other][_NDCG]] for one in stages if one.get(stage) and one.get(other)]
    if not rows:
        return "", ""
    (found,) = mean_intervals(rows, RetrievalMeasures(), columns=1)
    return f"{found.value:+.4f}", _bounds(found, sign="+")


def bm25_ndcg(documents: Mapping[str, str], queries: Sequence[SubmittedQuery]) -> float:
    """Mean nDCG@10 of BM25 over whole documents, of the queries with a relevant one; stemmed, without stop words."""
    stemmer = Stemmer.Stemmer("english")

    def tokens(texts: list[str]) -> list[list[str]]:
        options = {"stopwords": "en", "stemmer": stemmer, "return_ids": False, "show_progress": False}
        found: list[list[str]] = bm25s.tokenize(texts, **options)
        return found

    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    index.index(tokens([*documents.values()]), show_progress=False)
    names = [*documents]
    judged = [query for query in queries if max(query.judgements.values(), default=0) > 0]
    rankings = {}
    for query, words in zip(judged, tokens([query.text for query in judged]), strict=True):
        scores = index.get_scores(words) if words else np.zeros(len(documents))
        best = np.argsort(-scores, kind="stable")[:_CUTOFF]
        rankings[query.id] = [names[place] for place in best if scores[place] > 0]
    measured = measure_rankings(rankings, {query.id: query.judgements for query in judged}, cutoff=_CUTOFF)
    return mean(found[_NDCG] for found in measured.values())


def _row(report: dict[str, Any], stage: dict[str, Any]) -> tuple[str, ...]:
    measures = stage["measures"]
    ndcg = Interval(**measures[_NDCG])
    values = (f"{measures[name]['value']:.4f}" for name in ("recall@10", "recall", "mrr@10"))
    return f"{ndcg.value:.4f}", _bounds(ndcg), *differences(report, stage["stage"]), *values


def _bounds(found: Interval, *, sign: str = "") -> str:
    return "" if found.low is None else f"{found.low:{sign}.4f} to {found.high:{sign}.4f}"
