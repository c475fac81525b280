"""Whether the validator of query runs accepts relevant chunks."""

import json
import time
from pathlib import Path
from random import Random
from typing import Any, Final

import click
from rich.console import Console

from benchmarks.machine import this_machine
from benchmarks.retrieval import import_documents
from benchmarks.retrieval_sets import corpus_of, data_folder, public_set
from benchmarks.stack import stack

PACKAGES: Final = ("ragq", "xllamacpp")
SET: Final = "psychology-sections"


@click.command(short_help="Verdicts of the validator, compared with judgements")
@click.option("--queries", "count", default=30, show_default=True, help="Queries of the sample.")
@click.option("--chunks", default=3, show_default=True, help="Chunks of each query that are judged, best first.")
@click.option("--seed", default=42, show_default=True, help="Seed of the sample.")
@click.option("--model", default="", help="Model that judges; without it the embedded one.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write all results to this file."
)
def validator(count: int, chunks: int, seed: int, model: str, json_file: Path | None) -> None:
    """Search for a sample of judged queries, let a model judge what was found, and hold that against the judgements.

    Example:

    \b
        python -m benchmarks validator --queries 30
    """
    found = public_set(data_folder(), SET)
    machine = this_machine(PACKAGES)
    with stack() as running:
        corpus = import_documents(running, SET, corpus_of(found.documents).documents)
        queries = running.folder / "queries.jsonl"
        queries.write_text("".join(sample(found.queries, count, seed=seed)))
        began = time.monotonic()
        asked = ["--queries", str(queries), "--qrels", str(found.qrels), "--corpus", corpus.name]
        options = [*_judging(chunks, model), "--no-expand", "--until", "validate"]
        run = running.ran(*asked, *options)
        seconds = time.monotonic() - began
        report = running.asked("report", run)
    Console(width=110).print(machine.sentence(), *lines(report, seconds), sep="\n", highlight=False)
    if json_file is not None:
        content = {"machine": machine._asdict(), "seconds": seconds, "report": report}
        json_file.write_text(json.dumps(content, indent=2) + "\n")


def sample(file: Path, count: int, *, seed: int) -> list[str]:
    """So many lines of a file of queries, in the file's order; all of them where it has fewer."""
    rows = file.read_text(encoding="utf-8").splitlines(keepends=True)
    return [rows[place] for place in sorted(Random(seed).sample(range(len(rows)), min(count, len(rows))))]


def lines(report: dict[str, Any], seconds: float) -> list[str]:
    """The results, and those of accepting every chunk."""
    quality = report["validator"]
    if quality is None:
        raise click.ClickException(f"Nothing was validated: {report['failures'] or 'no failure is known'}.")
    return [
        f"{quality['asked']} chunks of {quality['queries']} queries in {seconds:.0f} s: "
        f"{quality['accepted']} accepted, {quality['rejected']} rejected, {quality['unsure']} unsure; "
        f"{quality['relevant']} relevant",
        f"precision of accept {_interval(quality['precision'])}; of all that was asked "
        f"{quality['relevant'] / quality['asked']:.3f}",
        f"recall of accept {_interval(quality['recall'])}",
        f"queries that failed: {report['counts']['failed']}",
    ]


def _judging(chunks: int, model: str) -> list[str]:
    values = {
        "retrieval.top_n_final": chunks,
        "validation.enabled": "true",
        "validation.allow_empty": "true",
        **({"validation.model": model} if model else {}),
    }
    return [argument for name, value in values.items() for argument in ("--set", f"{name}={value}")]


def _interval(found: dict[str, float | None]) -> str:
    if found["value"] is None:
        return "not known"
    return f"{found['value']:.3f} ({found['low']:.3f} to {found['high']:.3f})"
