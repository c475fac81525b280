"""The retrieval quality of ragq, ranking by ranking, compared with BM25."""

import json
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from benchmarks.machine import this_machine
from benchmarks.retrieval_sets import SETS, data_folder, documents_of, query_set_of, write_works
from benchmarks.stack import Memory, Stack, stack

PACKAGES: Final = ("ragq", "sentence-transformers", "bm25s", "ir-measures", "pgvector")

_TOLERANCE: Final = 0.002
"""The largest difference of fusion to the better leg."""


class BenchmarkCorpus(NamedTuple):
    """The documents of one set or several, imported."""

    name: str
    documents: int
    import_s: float
    peak_mb: float
    """Peak resident memory of all parts of the stack together."""


class RetrievalMeasurement(NamedTuple):
    """One set."""

    bm25_ndcg: float
    corpus: BenchmarkCorpus
    search_s: float
    """From the submission to the end of its last job."""
    peak_mb: float
    """As in the corpus, while it was searched."""
    report: dict[str, Any]
    """What `ragq report --json` printed."""

    def ndcg(self, stage: str) -> float:
        """Mean nDCG@10 of a ranking."""
        (found,) = (one for one in self.report["stages"] if one["stage"] == stage)
        return float(found["measures"]["ndcg@10"]["value"])


@click.command(short_help="Retrieval quality, ranking by ranking, compared with BM25")
@click.argument("names", metavar="[SET]...", nargs=-1, type=click.Choice(list(SETS)))
@click.option("--preset", help="The preset; the default one unless named.")
@click.option(
    "--half",
    type=click.Choice(["dev", "test"]),
    help="Only every second query, from the first (dev) or from the second one (test).",
)
@click.option("--set", "values", multiple=True, metavar="NAME=VALUE", help="A value of the preset, or a setting.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write all results to this file."
)
def retrieval(
    names: tuple[str, ...], preset: str | None, half: str | None, values: tuple[str, ...], json_file: Path | None
) -> None:
    """Import a public set into a stack of its own, search for its queries, and compare with BM25 by bm25s.

    Without a name all sets are run; documents that two of them share are imported once. The
    embedder works for ten minutes or more on scifact. Values of a preset are chosen with --half dev, and reported with
    --half test.

    Example:

    \b
        python -m benchmarks retrieval psychology-sections
        python -m benchmarks retrieval scifact --half dev --set retrieval.fusion=rrf
    """
    data = data_folder()
    named = [] if preset is None else ["--preset", preset]
    options = [*named, *(argument for value in values for argument in ("--set", value))]
    corpora: dict[str, BenchmarkCorpus] = {}
    measured = {}
    with stack() as running:
        for name in names or SETS:
            documents = SETS[name].documents
            if documents not in corpora:
                corpora[documents] = import_documents(running, data / documents)
            measured[name] = _measure(running, name, corpora[documents], data, options, half)
    console = Console(width=110)
    machine = this_machine(PACKAGES)
    console.print(machine.sentence(), highlight=False)
    for name, found in measured.items():
        console.print(_table(name, found))
        for line in goals(name, found):
            console.print(line, highlight=False)
    if json_file is not None:
        sets = {name: {**found._asdict(), "corpus": found.corpus._asdict()} for name, found in measured.items()}
        content = {"machine": machine._asdict(), **sets}
        json_file.write_text(json.dumps(content, indent=2) + "\n")


def goals(name: str, found: RetrievalMeasurement) -> list[str]:
    """The goals, and whether they were reached."""
    fused, leg = found.ndcg("fused"), max(found.ndcg("dense"), found.ndcg("lexical"))
    wanted = {
        f"fused {fused:.4f}, best leg {leg:.4f} - {_TOLERANCE}": fused >= leg - _TOLERANCE,
        f"reranked {found.ndcg('reranked'):.4f}, fused {fused:.4f}": found.ndcg("reranked") >= fused,
    }
    if name == "scifact":
        wanted[f"fused {fused:.4f}, 0.70"] = fused >= 0.70
    return [f"{'reached' if is_reached else 'MISSED'}: {what}" for what, is_reached in wanted.items()]


def import_documents(running: Stack, file: Path) -> BenchmarkCorpus:
    """A corpus of these documents, embedded, under the name of their folder."""
    name = file.parent.name
    works = running.folder / name
    count = write_works(file, works)
    began = time.monotonic()
    with Memory(running) as memory:
        running.ragq("import", "works", str(works), "--corpus", name, "--wait")
    return BenchmarkCorpus(name, count, time.monotonic() - began, memory.peak_mb)


def _measure(
    running: Stack, name: str, corpus: BenchmarkCorpus, data: Path, options: list[str], half: str | None
) -> RetrievalMeasurement:
    from benchmarks.bm25_baseline import bm25_ndcg  # needs packages of the extra `dev`

    found = SETS[name]
    queries, qrels = (data / found.queries / file for file in ("queries.jsonl", "qrels.tsv"))
    if half is not None:
        queries = half_of(queries, half, running.folder / f"{name}-{half}.jsonl")
    began = time.monotonic()
    asked = ["--queries", str(queries), "--qrels", str(qrels), "--corpus", corpus.name, "--no-expand"]
    with Memory(running) as memory:
        run = running.ran(*asked, "--until", "consolidate", *options)
    search_s = time.monotonic() - began
    return RetrievalMeasurement(
        bm25_ndcg=bm25_ndcg(list(documents_of(data / found.documents)), query_set_of(data, name, part=queries)),
        corpus=corpus,
        search_s=search_s,
        peak_mb=memory.peak_mb,
        report=running.asked("report", run),
    )


def half_of(queries: Path, half: str, file: Path) -> Path:
    """A file with every second query."""
    lines = queries.read_text(encoding="utf-8").splitlines()[0 if half == "dev" else 1 :: 2]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def _table(name: str, found: RetrievalMeasurement) -> Table:
    queries, corpus = found.report["counts"]["submitted"], found.corpus
    table = Table(
        title=f"{name}: {corpus.documents} works imported in {corpus.import_s:.0f} s (peak {corpus.peak_mb:.0f} MB), "
        f"{queries} queries in {found.search_s:.0f} s ({found.search_s / queries:.2f} s each, peak "
        f"{found.peak_mb:.0f} MB)",
        title_justify="left",
    )
    for heading in ("ranking", "queries", "nDCG@10", "95 %", "recall@10", "MRR@10"):
        table.add_column(heading, justify="left" if heading == "ranking" else "right")
    table.add_row("BM25 (bm25s, whole documents)", "", f"{found.bm25_ndcg:.4f}")
    for stage in found.report["stages"]:
        ndcg, recall, mrr = (stage["measures"][measure] for measure in ("ndcg@10", "recall@10", "mrr@10"))
        table.add_row(
            stage["stage"],
            str(stage["queries"]),
            f"{ndcg['value']:.4f}",
            f"{ndcg['low']:.4f} to {ndcg['high']:.4f}",
            f"{recall['value']:.4f}",
            f"{mrr['value']:.4f}",
        )
    return table
