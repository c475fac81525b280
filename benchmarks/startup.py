"""Processor time of commands that do no work, beside bare Python."""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from benchmarks.machine import this_machine

COMMANDS: Final = (("--help",), ("runs", "--help"), ("runs",), ("ps",), ("submit", "--help"))
BARE: Final = (sys.executable, "-c", "pass")
PACKAGES: Final = ("ragq", "click", "pydantic")
_RAGQ: Final = (sys.executable, "-c", "from cli.main import main; main()")
"""Like the script `ragq`, which may be that of another checkout."""


class Start(NamedTuple):
    """One command."""

    command: str
    cpu_ms: float
    over_bare_ms: float
    ratio: float
    """Processor time as a multiple of bare Python's."""


@click.command()
@click.option("--turns", default=15, show_default=True, help="Starts of each command; the median counts.")
@click.option("--json", "json_path", type=click.Path(path_type=Path, dir_okay=False), help="Write the results here.")
def startup(turns: int, json_path: Path | None) -> None:
    """Measure the processor time of `ragq --help` and others beside that of `python -c pass`."""
    bare_ms = _median_ms(BARE, turns)
    starts = [compared(" ".join(("ragq", *words)), _median_ms((*_RAGQ, *words), turns), bare_ms) for words in COMMANDS]
    machine = this_machine(PACKAGES)
    table = Table("command", "ms", "over bare Python", "times bare Python", box=None)
    table.add_row("python -c pass", f"{bare_ms:.0f}", "", "1.0")
    for one in starts:
        table.add_row(one.command, f"{one.cpu_ms:.0f}", f"{one.over_bare_ms:.0f}", f"{one.ratio:.1f}")
    console = Console()
    console.print(table)
    console.print(machine.sentence())
    if json_path is not None:
        found = {"machine": machine._asdict(), "bare_ms": bare_ms, "starts": [one._asdict() for one in starts]}
        json_path.write_text(json.dumps(found, indent=2))


def compared(command: str, cpu_ms: float, bare_ms: float) -> Start:
    """A command beside bare Python."""
    return Start(command, cpu_ms, cpu_ms - bare_ms, cpu_ms / bare_ms)


def cpu_ms_of(command: tuple[str, ...]) -> float:
    """Run a command to its end, its output unread. A refusal counts like a success: the imports are the same."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return (usage.ru_utime + usage.ru_stime) * 1000


def _median_ms(command: tuple[str, ...], turns: int) -> float:
    return median(cpu_ms_of(command) for _ in range(turns))
