"""Memory of every process of the stack over an hour of mixed work: flat, or how steep."""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import click
import numpy as np
import psutil

from benchmarks.common import Stack, show, show_machine, stack
from schemas.chains import stages_of
from stack.parts import FLOWER_TASKS

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


@click.command(short_help="Memory of each part of the stack over time")
@click.option("--minutes", default=60.0, show_default=True, help="How long work is submitted.")
def soak(minutes: float) -> None:
    """Run interviews, questions and phrases over and over, and measure the memory of every part of the stack.

    Before that, as many tasks as Flower keeps are run, and every connection is used. Fails if a part grows by more than
    20 MB an hour.

    \b
    Example:
        python -m benchmarks soak --minutes 10
    """
    show_machine("celery", "flower")
    with stack() as running:
        running.ragq("up")
        _prepare(running)
        samples, runs = _work(running, minutes * 60)
    rows, steep = [], []
    for part in dict.fromkeys(sample.part for sample in samples):
        mine = [sample for sample in samples if sample.part == part]
        slope = mb_per_hour(mine)
        amounts = (mine[0].mb, mine[-1].mb, max(one.mb for one in mine))
        rows.append((part, *(f"{mb:.0f}" for mb in amounts), f"{slope:+.1f}"))
        steep += [part] if slope > FLAT_MB_PER_HOUR else []
    headings = ("part", "MB at first", "at last", "at most", "an hour")
    show(f"{runs} runs in {minutes:g} minutes", headings, rows)
    if steep:
        raise click.ClickException(f"More than {FLAT_MB_PER_HOUR:g} MB an hour: {', '.join(steep)}")


def mb_per_hour(samples: Sequence[Sample]) -> float:
    """The slope of a line through the samples after the warm-up."""
    later = [sample for sample in samples if sample.seconds >= samples[-1].seconds * _WARM_UP]
    if len(later) < 2:
        return 0.0
    return 3600 * float(np.polyfit([one.seconds for one in later], [one.mb for one in later], 1)[0])


def _prepare(running: Stack) -> None:
    """Import what is worked on, and run so many tasks that Flower forgets the first of them."""
    folder = running.folder
    for options, name in (((), "interviews"), (("--works",), "works"), (("--tags",), "tags")):
        running.ragq("demo-data", *options, str(folder / name))
    running.ragq("import", "participants", str(folder / "interviews"))
    running.ragq("index", "references", "--wait")
    running.ragq("import", "works", str(folder / "works"), "--corpus", "shelf", "--wait")
    running.ragq("import", "tags", str(folder / "tags"), "--name", "wardrobe")
    running.ragq("index", "tags", "wardrobe", "--wait")
    (folder / "phrases.txt").write_text(_PHRASES)
    sets = -(-FLOWER_TASKS // len(stages_of("tags", "candidates")))
    lines = [f"{colour} coat {number}\n" for colour, number in product(("red", "blue"), range(-(-sets // 2)))]
    (folder / "many_phrases.txt").write_text("".join(lines))
    running.ran("--phrases", str(folder / "many_phrases.txt"), "--vocabulary", "wardrobe")


def _work(running: Stack, for_s: float) -> tuple[list[Sample], int]:
    samples: list[Sample] = []
    runs = 0
    began = time.monotonic()
    while time.monotonic() - began < for_s or not samples:
        for submission in _submissions(running.folder):
            running.ran(*submission, "--new")
            runs += 1
            seconds = time.monotonic() - began
            parts = [part for part in running.parts() if part["pid"]]
            samples += [Sample(seconds, part["name"], memory(part["pid"])) for part in parts]
    return samples, runs


def memory(pid: int) -> float:
    """Megabytes that a process and its children have each for themselves: without the buffers that Postgres shares."""
    own = 0
    process = psutil.Process(pid)
    for one in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            own += one.memory_full_info().uss
    return own / 1e6


def _submissions(folder: Path) -> Iterator[tuple[str, ...]]:
    yield ("--split", "paper-test", "--limit", "8", "--few-shot-only", "--until", "rerank")
    yield ("--query", _QUESTION, "--corpus", "shelf", "--no-expand", "--until", "rerank")
    yield ("--phrases", str(folder / "phrases.txt"), "--vocabulary", "wardrobe")
    # One that reaches the language model.
    yield ("--query", _QUESTION, "--corpus", "shelf")
