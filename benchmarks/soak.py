"""Memory of every process of the stack over an hour of mixed work: flat, or how steep."""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import click
import numpy as np
import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.machine import this_machine
from benchmarks.stack import Stack, stack
from schemas.chains import stages_of
from stack.processes import FLOWER_TASKS

PACKAGES: Final = ("ragq", "celery", "flower")
_PHRASES: Final = "overcoat, umbrela, red scarf\nseated man, blue sky\nwooden chair, dog\n"
_QUESTION: Final = "Why does black tea turn dark?"
#: Models and pools are loaded in the first part, which says nothing of growth.
_WARM_UP: Final = 1 / 3
#: A page of the allocator here and there: what counts as flat.
FLAT_MB_PER_HOUR: Final = 20.0


class Sample(NamedTuple):
    """The memory of one part at one moment."""

    seconds: float
    part: str
    mb: float
    """Its own: without the buffers that the processes of Postgres share, whose size is a setting."""
    shared_mb: float = 0.0


class Growth(NamedTuple):
    """The memory of one part, its own."""

    part: str
    first_mb: float
    last_mb: float
    peak_mb: float
    mb_per_hour: float
    """The slope of a line through the samples after the warm-up."""
    shared_mb: float
    """What its processes shared beside it, at last."""


@click.command()
@click.option("--minutes", default=60.0, show_default=True, help="How long work is submitted.")
@click.option("--json", "json_path", type=click.Path(path_type=Path, dir_okay=False), help="Write the results here.")
def soak(minutes: float, json_path: Path | None) -> None:
    """Run interviews, questions and phrases over and over, and measure the memory of every part of the stack.

    Before that, as many tasks as Flower keeps are run, and every connection is used.
    """
    with stack() as running:
        running.ragq("up")
        _prepare(running)
        _fill(running)
        samples, runs = _work(running, minutes * 60)
    found = growth(samples)
    machine = this_machine(PACKAGES)
    table = Table("part", "MB at first", "MB at last", "MB at most", "MB an hour", "MB shared", box=None)
    for one in found:
        amounts = (one.first_mb, one.last_mb, one.peak_mb)
        table.add_row(one.part, *(f"{mb:.0f}" for mb in amounts), f"{one.mb_per_hour:+.1f}", f"{one.shared_mb:.0f}")
    console = Console()
    console.print(table)
    console.print(f"{runs} runs in {minutes:g} minutes.")
    console.print(machine.sentence())
    if json_path is not None:
        content = {
            "machine": machine._asdict(),
            "minutes": minutes,
            "runs": runs,
            "growth": [one._asdict() for one in found],
            "samples": [one._asdict() for one in samples],
        }
        json_path.write_text(json.dumps(content, indent=2))
    if steep := [one.part for one in found if one.mb_per_hour > FLAT_MB_PER_HOUR]:
        raise click.ClickException(f"More than {FLAT_MB_PER_HOUR:g} MB an hour: {', '.join(steep)}")


def growth(samples: list[Sample]) -> list[Growth]:
    """The growth of each part, in the order in which they come."""
    end = max(sample.seconds for sample in samples)
    found = []
    for part in dict.fromkeys(sample.part for sample in samples):
        mine = [sample for sample in samples if sample.part == part]
        later = [sample for sample in mine if sample.seconds >= end * _WARM_UP]
        slope = np.polyfit([one.seconds for one in later], [one.mb for one in later], 1)[0] if len(later) > 1 else 0.0
        peak = max(one.mb for one in mine)
        found.append(Growth(part, mine[0].mb, mine[-1].mb, peak, float(slope) * 3600, mine[-1].shared_mb))
    return found


def _prepare(running: Stack) -> None:
    folder = running.folder
    for option, name in (([], "interviews"), (["--works"], "works"), (["--tags"], "tags")):
        running.ragq("demo-data", *option, str(folder / name))
    running.ragq("import", "participants", str(folder / "interviews"))
    running.ragq("index", "references")
    running.ragq("import", "works", str(folder / "works"), "--corpus", "shelf", "--wait")
    running.ragq("import", "tags", str(folder / "tags"), "--name", "wardrobe")
    running.ragq("index", "tags", "wardrobe")
    (folder / "phrases.txt").write_text(_PHRASES)


def _fill(running: Stack) -> None:
    """Run so many tasks that Flower forgets the first of them."""
    sets = -(-FLOWER_TASKS // len(stages_of("tags", "candidates")))
    lines = [f"{colour} coat {number}" for colour, number in product(("red", "blue"), range(-(-sets // 2)))]
    many = running.folder / "many_phrases.txt"
    many.write_text("\n".join(lines) + "\n")
    running.ran("--phrases", str(many), "--vocabulary", "wardrobe")


def _work(running: Stack, for_s: float) -> tuple[list[Sample], int]:
    samples: list[Sample] = []
    runs = 0
    began = time.monotonic()
    while time.monotonic() - began < for_s or not samples:
        for submission in _submissions(running.folder):
            running.ran(*submission, "--new")
            runs += 1
            seconds = time.monotonic() - began
            samples += [
                Sample(seconds, part["name"], *memory(part["pid"])) for part in running.asked("ps") if part["pid"]
            ]
    return samples, runs


def memory(pid: int) -> tuple[float, float]:
    """Megabytes of a process and its children: their own, and of anonymous pages that they share, each page once."""
    own = shared = 0
    process = psutil.Process(pid)
    for one in (process, *process.children(recursive=True)):
        with suppress(ProcessLookupError, FileNotFoundError):
            lines = (line.split() for line in Path(f"/proc/{one.pid}/smaps_rollup").read_text().splitlines()[1:])
            kilobytes = {name: int(amount) for name, amount, _ in lines}
            shared += kilobytes["Pss_Shmem:"]
            own += kilobytes["Pss:"] - kilobytes["Pss_Shmem:"]
    return own * 1024 / 1e6, shared * 1024 / 1e6


def _submissions(folder: Path) -> Iterator[tuple[str, ...]]:
    yield ("--split", "paper-test", "--limit", "8", "--few-shot-only", "--until", "rerank")
    yield ("--query", _QUESTION, "--corpus", "shelf", "--no-expand", "--until", "rerank")
    yield ("--phrases", str(folder / "phrases.txt"), "--vocabulary", "wardrobe")
    # One that reaches the language model.
    yield ("--query", _QUESTION, "--corpus", "shelf")
