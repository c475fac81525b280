"""The complete main job: the participants of `paper-test` in both modes, on embedded servers and models."""

import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from benchmarks.machine import this_machine
from benchmarks.stack import Memory, Stack, stack
from schemas.values.phq8 import PHQ8Item

PACKAGES: Final = ("ragq", "celery", "torch", "xllamacpp")


class Passes(NamedTuple):
    """The work of the embedding model for the evidence of some participants."""

    participants: int
    calls: int
    """Of the embedder by stage `embed`: one for each participant with evidence."""
    texts: int
    forward_passes: int


class Whole(NamedTuple):
    """One submission from its first message to its last row."""

    jobs: int
    succeeded: int
    wall_s: float
    llm_paid: int
    llm_reused: int
    peak_mb: float
    """Peak resident memory of all parts of the stack together."""


@click.command("paper-test", short_help="The complete main job: wall time, model calls, memory")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N participants.")
@click.option("--passes-only", is_flag=True, help="Without the language model.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write all results to this file."
)
def paper_test(limit: int | None, passes_only: bool, json_file: Path | None) -> None:
    """Run `ragq submit --split paper-test` on demo data, then the same again as a new run that pays nothing.

    With all 41 participants the embedded language model works for an hour or two.

    Example:

    \b
        python -m benchmarks paper-test --limit 3
        python -m benchmarks paper-test --passes-only
    """
    machine = this_machine(PACKAGES)
    with stack() as running:
        data = running.folder / "data"
        running.ragq("demo-data", str(data))
        running.ragq("import", "participants", str(data))
        running.ragq("index", "references", "--split", "paper-train")
        passes = _count_passes(running, limit)
        runs = {} if passes_only else {"first": _whole(running, limit), "again": _whole(running, limit)}
    console = Console(width=110)
    console.print(machine.sentence(), highlight=False)
    console.print(
        f"{passes.participants} participants: {passes.texts} texts in {passes.calls} calls of the embedder and "
        f"{passes.forward_passes} forward passes of its model",
        highlight=False,
    )
    if runs:
        console.print(_table(runs))
    if json_file is not None:
        content = {"machine": machine._asdict(), "passes": passes._asdict()}
        content |= {name: run._asdict() for name, run in runs.items()}
        json_file.write_text(json.dumps(content, indent=2) + "\n")


def _count_passes(running: Stack, limit: int | None) -> Passes:
    """Evidence is found first and given to a run of its own, in which the model sees nothing else."""
    asked = ["--split", "paper-test", "--few-shot-only", *_limit(limit)]
    found = running.ran(*asked, "--until", "extract")
    quotes = {}
    for job in running.asked("show", found)["jobs"]:
        attempt = running.asked("inspect", f"j{job['job_id']}", "extract")["attempts"][-1]
        found_quotes = attempt["output"]["quotes"]
        quotes[job["subject"]] = {PHQ8Item(item).evidence_key: texts for item, texts in found_quotes.items()}
    before = len(running.encoded())
    with tempfile.NamedTemporaryFile("w", suffix=".json") as evidence:
        json.dump(quotes, evidence)
        evidence.flush()
        embedded = running.ran(*asked, "--until", "embed", "--evidence", evidence.name)
    jobs = running.asked("show", embedded)["jobs"]
    calls = sum(
        running.asked("inspect", f"j{job['job_id']}", "embed")["attempts"][-1]["output"]["embedding_calls"]
        for job in jobs
    )
    seen = running.encoded()[before:]
    return Passes(
        participants=len(jobs),
        calls=calls,
        texts=sum(event["texts"] for event in seen),
        forward_passes=sum(event["passes"] for event in seen),
    )


def _whole(running: Stack, limit: int | None) -> Whole:
    with Memory(running) as memory:
        started = time.monotonic()
        run = running.ran("--split", "paper-test", "--new", *_limit(limit))
        wall_s = time.monotonic() - started
    jobs = running.asked("show", run)["jobs"]
    return Whole(
        jobs=len(jobs),
        succeeded=sum(job["status"] == "succeeded" for job in jobs),
        wall_s=wall_s,
        llm_paid=sum(job["llm_paid"] for job in jobs),
        llm_reused=sum(job["llm_reused"] for job in jobs),
        peak_mb=memory.peak_mb,
    )


def _limit(limit: int | None) -> list[str]:
    return [] if limit is None else ["--limit", str(limit)]


def _table(runs: Mapping[str, Whole]) -> Table:
    table = Table(title="ragq submit --split paper-test, both modes")
    for heading in ("", "jobs", "succeeded", "wall s", "calls paid", "calls reused", "peak MB"):
        table.add_column(heading, justify="right")
    for name, run in runs.items():
        numbers = (run.jobs, run.succeeded, f"{run.wall_s:.0f}", run.llm_paid, run.llm_reused, f"{run.peak_mb:.0f}")
        table.add_row(name, *map(str, numbers))
    return table
