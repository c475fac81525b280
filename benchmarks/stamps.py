"""The start of each stage: lines of fixed width that any process appends to one file.

A stamp costs a few microseconds and needs no server, so it weighs the same on every contestant.
"""

import os
import time
from collections import defaultdict
from functools import cache
from pathlib import Path

VARIABLE = "BENCHMARK_STAMPS"
"""Environment variable with the path of the file; a process that stamps must have it."""

_LINE = "{job:>10} {position:>3} {nanoseconds:>20}\n"
_WIDTH = len(_LINE.format(job=0, position=0, nanoseconds=0))


def stamp(job: int, position: int) -> None:
    """Note that the stage at `position` of a job begins now, on the clock that all processes share."""
    line = _LINE.format(job=job, position=position, nanoseconds=time.monotonic_ns())
    assert len(line) == _WIDTH, line
    os.write(_opened(os.environ[VARIABLE]), line.encode())


def count(path: Path) -> int:
    """Stamps in the file; none when there is no file yet."""
    return path.stat().st_size // _WIDTH if path.exists() else 0


def hops_ms(path: Path, *, after: int = 0) -> list[float]:
    """Milliseconds from the beginning of each stage to that of the next in its job, skipping the first stamps.

    A stage that ran twice counts from its first time.
    """
    began: dict[int, dict[int, int]] = defaultdict(dict)
    for line in path.read_text().splitlines()[after:]:
        job, position, nanoseconds = map(int, line.split())
        began[job].setdefault(position, nanoseconds)
    return [
        (positions[position] - positions[position - 1]) / 1e6
        for positions in began.values()
        for position in sorted(positions)
        if position - 1 in positions
    ]


@cache
def _opened(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
