"""The retrieval quality of ragq, list by list and step by step, compared with BM25."""

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from benchmarks.machine import this_machine
from benchmarks.retrieval_sets import (
    SETS,
    Document,
    RetrievalSet,
    beir_set,
    corpus_of,
    data_folder,
    public_set,
    query_set_of,
    write_queries,
    write_works,
)
from benchmarks.stack import Memory, Stack, stack
from schemas.values.measures import RetrievalMeasures
from schemas.values.metrics import Interval
from stages.metrics.bootstrap import mean_intervals

PACKAGES: Final = ("ragq", "sentence-transformers", "bm25s", "ir-measures", "pgvector")

#: What a preset is without one of its parts.
ABLATIONS: Final = {
    "without the search by vector": "retrieval.dense_limit=0",
    "without full text": "retrieval.lexical_limit=0",
    "without a ranker": "reranking.ranker=none",
    "without diversity": "retrieval.mmr_lambda=1",
}

_NDCG: Final = "ndcg@10"
_TOLERANCE: Final = 0.002
"""The largest difference of fusion to the better search."""


class BenchmarkCorpus(NamedTuple):
    """The documents of one set or several, imported."""

    name: str
    documents: int
    import_s: float
    peak_mb: float
    """Peak resident memory of all parts of the stack together."""


class RetrievalMeasurement(NamedTuple):
    """One set, searched with one preset."""

    bm25_ndcg: float
    corpus: BenchmarkCorpus
    search_s: float
    """From the submission to the end of its last job."""
    peak_mb: float
    """As in the corpus, while it was searched."""
    report: dict[str, Any]
    """What `ragq report --json` printed."""
    ablations: dict[str, dict[str, Any]]
    """The reports of ABLATIONS, by what is left out. Parts that the preset does not use are absent."""

    def ndcg(self, stage: str) -> float:
        """Mean nDCG@10 of a ranking."""
        (found,) = (one for one in self.report["stages"] if one["stage"] == stage)
        return float(found["measures"][_NDCG]["value"])


class _Prepared(NamedTuple):
    """A set whose documents are imported."""

    corpus: BenchmarkCorpus
    documents: list[Document]
    files: RetrievalSet


@click.command(short_help="Retrieval quality, list by list and step by step, compared with BM25")
@click.argument("names", metavar="[SET]...", nargs=-1, type=click.Choice(list(SETS)))
@click.option(
    "--data",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A folder in BEIR's layout: corpus.jsonl, queries.jsonl, and qrels/test.tsv or qrels.tsv. May be repeated.",
)
@click.option("--preset", "presets", multiple=True, help="A preset; the default one unless named. May be repeated.")
@click.option("--ablation", is_flag=True, help="Also search without each part of the preset.")
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
    names: tuple[str, ...],
    folders: tuple[Path, ...],
    presets: tuple[str, ...],
    ablation: bool,
    half: str | None,
    values: tuple[str, ...],
    json_file: Path | None,
) -> None:
    """Import retrieval sets into a stack of its own, search for their queries, and compare with BM25 by bm25s.

    SET names a set of RAGQ_DATA_DIR, --data any folder; without both, all sets of RAGQ_DATA_DIR are run. Documents that
    two sets share are imported once, and documents with equal text are one work. Values of a preset are chosen with
    --half dev, and reported with --half test.

    Example:

    \b
        python -m benchmarks retrieval psychology-sections --ablation
        python -m benchmarks retrieval --data ~/beir/nfcorpus --preset Balanced --preset Original
        python -m benchmarks retrieval scifact --set reranking.ranker=cross-encoder --set reranking.model=FOLDER
    """
    sets = {folder.resolve().name: beir_set(folder) for folder in folders}
    if len(sets) < len(folders):
        raise click.UsageError("Two of the folders have the same name; rename one.")
    if names or not folders:
        data = data_folder()
        sets |= {name: public_set(data, name) for name in names or SETS}
    options = [argument for value in values for argument in ("--set", value)]
    measured: dict[str, dict[str, RetrievalMeasurement]] = {}
    with stack() as running:
        require_presets(presets, [preset["name"] for preset in running.asked("preset", "list")])
        for name, prepared in _imported(running, sets, half):
            measured[name] = {
                preset or "the default preset": _measure(
                    running, prepared, [*(["--preset", preset] if preset else []), *options], ablation=ablation
                )
                for preset in presets or [""]
            }
    console = Console(width=130)
    machine = this_machine(PACKAGES)
    console.print(machine.sentence(), highlight=False)
    for name, by_preset in measured.items():
        for preset, found in by_preset.items():
            console.print(_table(f"{name}, {preset}", found))
            if found.ablations:
                console.print(_ablations(found))
            for line in goals(name, found):
                console.print(line, highlight=False)
    if json_file is not None:
        content = {
            name: {preset: {**found._asdict(), "corpus": found.corpus._asdict()} for preset, found in by_preset.items()}
            for name, by_preset in measured.items()
        }
        json_file.write_text(json.dumps({"machine": machine._asdict(), **content}, indent=2) + "\n")


def require_presets(wanted: Sequence[str], known: Sequence[str]) -> None:
    """Raise UsageError for a preset that is not known, before anything is imported for it."""
    if missing := [preset for preset in wanted if preset not in known]:
        raise click.UsageError(f"There is no preset {', '.join(missing)}; there are {', '.join(known)}.")


def goals(name: str, found: RetrievalMeasurement) -> list[str]:
    """The goals, and whether they were reached."""
    stages = {stage["stage"] for stage in found.report["stages"]}
    fused, leg = found.ndcg("fused"), max(found.ndcg(stage) for stage in ("dense", "lexical") if stage in stages)
    wanted = {
        f"fused {fused:.4f}, better search {leg:.4f} - {_TOLERANCE}": fused >= leg - _TOLERANCE,
        f"reranked {found.ndcg('reranked'):.4f}, fused {fused:.4f}": found.ndcg("reranked") >= fused,
    }
    if name == "scifact":
        wanted[f"fused {fused:.4f}, 0.70"] = fused >= 0.70
    return [f"{'reached' if is_reached else 'MISSED'}: {what}" for what, is_reached in wanted.items()]


def import_documents(running: Stack, name: str, documents: Sequence[Document]) -> BenchmarkCorpus:
    """A corpus of these documents, embedded."""
    works = running.folder / name
    write_works(documents, works)
    began = time.monotonic()
    with Memory(running) as memory:
        running.ragq("import", "works", str(works), "--corpus", name, "--wait")
    return BenchmarkCorpus(name, len(documents), time.monotonic() - began, memory.peak_mb)


def paired(left: dict[str, Any], right: dict[str, Any], stages: tuple[str, str]) -> Interval | None:
    """The mean over queries of nDCG@10 of a ranking of the right report, less that of one of the left report.

    Queries are resampled as in reports. None if no query has both rankings.
    """
    before = {query["query"]: query["stages"].get(stages[0]) for query in left["queries"]}
    after = {query["query"]: query["stages"].get(stages[1]) for query in right["queries"]}
    rows = [[after[key][_NDCG] - old[_NDCG]] for key, old in before.items() if old and after.get(key)]
    if not rows:
        return None
    measures = RetrievalMeasures()
    (found,) = mean_intervals(rows, columns=1, resamples=measures.bootstrap_resamples, seed=measures.bootstrap_seed)
    return found


def _imported(running: Stack, sets: dict[str, RetrievalSet], half: str | None) -> Iterator[tuple[str, _Prepared]]:
    """Each set, once its documents are imported."""
    corpora: dict[Path, BenchmarkCorpus] = {}
    for name, found in sets.items():
        documents, name_of = corpus_of(found.documents)
        if found.documents not in corpora:
            corpora[found.documents] = import_documents(running, f"{name}-documents", documents)
        files = write_queries(found, name_of, running.folder / f"{name}-queries", half=half)
        yield name, _Prepared(corpora[found.documents], documents, files)


def _measure(running: Stack, prepared: _Prepared, options: list[str], *, ablation: bool) -> RetrievalMeasurement:
    from benchmarks.bm25_baseline import bm25_ndcg  # needs packages of the extra `dev`

    corpus, documents, files = prepared
    asked = ["--queries", str(files.queries), "--qrels", str(files.qrels), "--corpus", corpus.name, "--no-expand"]
    asked += ["--until", "consolidate", *options]
    began = time.monotonic()
    with Memory(running) as memory:
        run = running.ran(*asked)
    search_s = time.monotonic() - began
    report = running.asked("report", run)
    return RetrievalMeasurement(
        bm25_ndcg=bm25_ndcg(documents, query_set_of(files)),
        corpus=corpus,
        search_s=search_s,
        peak_mb=memory.peak_mb,
        report=report,
        ablations={
            part: running.asked("report", running.ran(*asked, "--set", value))
            for part, value in ABLATIONS.items()
            if ablation and not _is_so(report, value)
        },
    )


def _is_so(report: dict[str, Any], value: str) -> bool:
    """Whether a run had this value."""
    name, _, wanted = value.partition("=")
    found = report["settings"][name]["value"]
    return found == wanted if isinstance(found, str) else bool(found == float(wanted))


def _table(title: str, found: RetrievalMeasurement) -> Table:
    queries, corpus = found.report["counts"]["submitted"], found.corpus
    table = Table(
        title=f"{title}: {corpus.documents} works imported in {corpus.import_s:.0f} s (peak {corpus.peak_mb:.0f} MB), "
        f"{queries} queries in {found.search_s:.0f} s ({found.search_s / queries:.2f} s each, peak "
        f"{found.peak_mb:.0f} MB)",
        title_justify="left",
    )
    for heading in ("ranking", "queries", "nDCG@10", "95 %", "- fused", "95 %", "recall@10", "recall", "MRR@10"):
        table.add_column(heading, justify="left" if heading == "ranking" else "right")
    table.add_row("BM25 (bm25s, whole documents)", "", f"{found.bm25_ndcg:.4f}")
    for stage in found.report["stages"]:
        ndcg = Interval(**stage["measures"][_NDCG])
        table.add_row(
            stage["stage"],
            str(stage["queries"]),
            f"{ndcg.value:.4f}",
            _bounds(ndcg),
            *_difference(paired(found.report, found.report, ("fused", stage["stage"]))),
            *(f"{stage['measures'][measure]['value']:.4f}" for measure in ("recall@10", "recall", "mrr@10")),
        )
    return table


def _ablations(found: RetrievalMeasurement) -> Table:
    table = Table(title="consolidated, without a part", title_justify="left")
    for heading in ("", "nDCG@10", "- with it", "95 %"):
        table.add_column(heading, justify="left" if not heading else "right")
    for part, report in found.ablations.items():
        (stage,) = (one for one in report["stages"] if one["stage"] == "consolidated")
        difference = paired(found.report, report, ("consolidated", "consolidated"))
        table.add_row(part, f"{stage['measures'][_NDCG]['value']:.4f}", *_difference(difference))
    return table


def _difference(found: Interval | None) -> tuple[str, str]:
    return ("", "") if found is None else (f"{found.value:+.4f}", _bounds(found, sign="+"))


def _bounds(found: Interval, *, sign: str = "") -> str:
    if found.low is None or found.high is None:
        return ""
    return f"{found.low:{sign}.4f} to {found.high:{sign}.4f}"
