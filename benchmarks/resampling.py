"""Time and memory of the 10,000 resamples of a report, beside another checkout of ragq."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from benchmarks.contestants import PROJECT
from benchmarks.machine import this_machine
from benchmarks.many_runs import scored
from schemas.values.measures import Measures
from schemas.values.phq8 import PHQ8Item
from schemas.values.scoring import Subject

PACKAGES: Final = ("ragq", "numpy")
PROGRAM: Final = Path(__file__).with_name("resampled_program.py")
_MEASURES: Final = 5


class Resampled(NamedTuple):
    """One program, over several turns."""

    seconds: float
    peak_mb: float


@click.command()
@click.option("--participants", default=(70, 280, 1_050), multiple=True, show_default=True, help="Once for each size.")
@click.option("--queries", default=(300, 7_000), multiple=True, show_default=True, help="Once for each size.")
@click.option(
    "--confidence",
    "confidences",
    default=(Measures().confidence, "retrieval_similarity_mean"),
    multiple=True,
    show_default=True,
    help="The confidence whose curve is reported in full; the areas of all others are computed too.",
)
@click.option("--turns", default=3, show_default=True, help="Processes of each; the median counts.")
@click.option(
    "--before",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Another checkout, in turn with this.",
)
@click.option("--json", "json_path", type=click.Path(path_type=Path, dir_okay=False), help="Write the results here.")
def resampling(
    participants: Sequence[int],
    queries: Sequence[int],
    confidences: Sequence[str],
    turns: int,
    before: Path | None,
    json_path: Path | None,
) -> None:
    """Measure the selective prediction of scored participants, and the means of queries, each in a process.

    Example:

    \b
        python -m benchmarks resampling --before ../ragq-of-yesterday
    """
    work = {
        f"{size:,} participants, {confidence}": {"subjects": _subjects(size), "confidence": confidence}
        for confidence in confidences
        for size in participants
    } | {f"{size:,} queries": {"rows": _rows(size)} for size in queries}
    checkouts = {"before": before, "now": PROJECT} if before else {"now": PROJECT}
    machine, console = this_machine(PACKAGES), Console(width=110)
    table = Table("resampled 10,000 times", title="median; s and MB at the peak", title_justify="left", box=None)
    for name in checkouts:
        table.add_column(f"{name} s", justify="right")
        table.add_column("MB", justify="right")
    results: dict[str, dict[str, Any]] = {}
    for name, given in work.items():
        taken: dict[str, list[Resampled]] = {checkout: [] for checkout in checkouts}
        for _ in range(turns):
            for checkout, path in checkouts.items():
                taken[checkout].append(_measured(path, given))
        found = {checkout: Resampled(*map(median, zip(*all_of, strict=True))) for checkout, all_of in taken.items()}
        table.add_row(name, *(f"{one:.2f}" if one < 10 else f"{one:.0f}" for of in found.values() for one in of))
        results[name] = {checkout: one._asdict() for checkout, one in found.items()}
    console.print(table)
    console.print(machine.sentence(), highlight=False)
    if json_path is not None:
        json_path.write_text(json.dumps({"machine": machine._asdict(), "results": results}, indent=2) + "\n")


def _subjects(size: int) -> list[dict[str, Any]]:
    chance = random.Random(1)
    return [
        Subject(
            participant_id=number,
            items=scored(chance, has_references=True).items,
            truth={item: chance.randrange(4) for item in PHQ8Item},
        ).model_dump(mode="json")
        for number in range(1, size + 1)
    ]


def _rows(size: int) -> list[list[float]]:
    chance = random.Random(1)
    return [[chance.random() for _ in range(_MEASURES)] for _ in range(size)]


def _measured(checkout: Path, given: Mapping[str, Any]) -> Resampled:
    done = subprocess.run(
        [sys.executable, "-P", PROGRAM],
        input=json.dumps(given),
        capture_output=True,
        check=True,
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout), "OPENBLAS_NUM_THREADS": "1"},
        text=True,
    )
    return Resampled(**json.loads(done.stdout))
