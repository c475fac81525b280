"""The time of every command that reads, from the start of its process to its exit, on a large database."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from benchmarks.contestants import PROJECT
from benchmarks.machine import this_machine
from benchmarks.many_runs import fill
from benchmarks.servers import Servers, servers
from benchmarks.stack import SERVERS
from store.database import Database

PACKAGES: Final = ("ragq", "asyncpg", "click")
GOAL_P95_MS: Final = 300.0

COMMANDS: Final[tuple[tuple[str, ...], ...]] = (
    ("runs",),
    ("runs", "--json"),
    ("show", "RUN"),
    ("show", "RUN", "--json"),
    ("show", "RUN", "--config"),
    ("watch", "RUN"),
    ("failures",),
    ("failures", "RUN"),
    ("inspect", "JOB"),
    ("inspect", "JOB", "score"),
    ("report", "RUN"),
    ("report", "RUN", "--recompute"),
    ("report", "RUN", "--json"),
    ("diff", "RUN", "OTHER"),
    ("diff", "RUN", "OTHER", "--recompute"),
    ("diff", "RUN", "OTHER", "THIRD"),
    ("diff", "RUN", "OTHER", "THIRD", "--recompute"),
    ("plot", "RUN"),
    ("plot", "RUN", "--recompute"),
    ("query", "list"),
    ("corpus", "list"),
    ("splits", "list"),
    ("index", "list"),
    ("vocabulary", "list"),
    ("preset", "list"),
    ("preset", "show"),
    ("template", "list"),
    ("template", "show", "query_expansion"),
    ("config", "show"),
    ("config", "profiles"),
)
"""RUN, OTHER, THIRD and JOB stand for numbers."""

_SOME_FAILED: Final = 3


_REPORTED_AFTER_S: Final = 0.5

DONE: Final = """
SELECT active_time AS active_ms, blks_hit + blks_read AS buffers
FROM pg_stat_database WHERE datname = current_database()
"""


class DatabaseWork(NamedTuple):
    """What the statements of all sessions did."""

    active_ms: float
    buffers: int


NO_WORK: Final = DatabaseWork(0.0, 0)


class Read(NamedTuple):
    """One command, over many starts."""

    p50_ms: float
    p95_ms: float
    cpu_ms: float
    """Processor time of the command; the median."""
    database_ms: float
    """Time in which statements ran; the mean."""
    buffers: int
    """Pages that statements read, from memory or from disk; the mean."""


@click.command(short_help="Cold commands that read, with 1,000 runs and 700,000 stage rows")
@click.option("--runs", default=1_000, show_default=True)
@click.option("--participants", default=70, show_default=True, help="Of each run, in both modes: ten stages each.")
@click.option("--turns", default=20, show_default=True, help="Starts of each command.")
@click.option("--generate", is_flag=True, help="Only store the runs in the migrated database of DATABASE_URL.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write all results to this file."
)
def reads(runs: int, participants: int, turns: int, generate: bool, json_file: Path | None) -> None:
    """Make a database of many runs and time the commands that read it, each in a process of its own.

    Example:

    \b
        python -m benchmarks reads --json reads.json
        DATABASE_URL=... python -m benchmarks reads --generate
    """
    if generate:
        click.echo(f"{_filled(os.environ['DATABASE_URL'], runs, participants):,} stage rows.")
        return
    machine = this_machine(PACKAGES)
    with servers() as running:
        rows = _filled(running.postgres.url, runs, participants)
        taken = {" ".join(words): _measure(running, words, runs, turns) for words in COMMANDS}
    console = Console(width=110)
    console.print(machine.sentence(), highlight=False)
    table = Table("command", title=f"{runs:,} runs, {rows:,} stage rows, {turns} cold starts", title_justify="left")
    for heading in ("p50 ms", f"p95 ms (goal < {GOAL_P95_MS:g})", "CPU ms", "database ms", "buffers"):
        table.add_column(heading, justify="right")
    for name, found in taken.items():
        times = (f"{ms:.0f}" for ms in (found.p50_ms, found.p95_ms, found.cpu_ms, found.database_ms))
        table.add_row(f"ragq {name}", *times, f"{found.buffers:,}")
    console.print(table)
    if json_file is not None:
        content: dict[str, Any] = {"machine": machine._asdict(), "runs": runs, "stage_rows": rows}
        content["commands"] = {name: found._asdict() for name, found in taken.items()}
        json_file.write_text(json.dumps(content, indent=2) + "\n")


def read_of(walls_s: Sequence[float], cpus_s: Sequence[float], done: DatabaseWork = NO_WORK) -> Read:
    """The summary of at least two starts, and of what the database did for all of them."""
    return Read(
        median(walls_s) * 1000,
        quantiles(walls_s, n=20, method="inclusive")[-1] * 1000,
        median(cpus_s) * 1000,
        done.active_ms / len(walls_s),
        round(done.buffers / len(walls_s)),
    )


def _database_work(url: str) -> DatabaseWork:
    async def read() -> DatabaseWork:
        database = Database(url, pool_size=1)
        try:
            async with database.connection() as connection:
                return DatabaseWork(**dict(await connection.fetchrow(DONE)))
        finally:
            await database.close()

    # Sessions that ended a moment ago report what they did.
    time.sleep(_REPORTED_AFTER_S)
    return asyncio.run(read())


def _filled(url: str, runs: int, participants: int) -> int:
    async def filled() -> int:
        database = Database(url, pool_size=1)
        try:
            async with database.connection() as connection:
                return await fill(connection, runs=runs, participants=participants)
        finally:
            await database.close()

    return asyncio.run(filled())


def _measure(running: Servers, words: Sequence[str], runs: int, turns: int) -> Read:
    numbered = {name: f"r{runs // 2 + place}" for place, name in enumerate(("RUN", "OTHER", "THIRD"))}
    names: Mapping[str, str] = {**numbered, "JOB": f"j{runs * 50}"}
    # A user's second command finds its modules compiled.
    kept = {name: value for name, value in os.environ.items() if name not in {*SERVERS, "PYTHONDONTWRITEBYTECODE"}}
    environment = kept | {
        "DATABASE_URL": running.postgres.url,
        "REDIS_URL": running.valkey.url,
        "RAGQ_HOME": str(running.folder / "home"),
    }
    command = [sys.executable, "-c", "from ragq.start import main; main()", *(names.get(word, word) for word in words)]
    walls, cpus = [], []
    before = _database_work(running.postgres.url)
    for _ in range(turns):
        began = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=PROJECT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert process.stderr is not None
        error = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        walls.append(time.perf_counter() - began)
        cpus.append(usage.ru_utime + usage.ru_stime)
        process.stderr.close()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, _SOME_FAILED):
            raise click.ClickException(f"ragq {' '.join(words)} ended with {process.returncode}:\n{error.decode()}")
    after = _database_work(running.postgres.url)
    done = DatabaseWork(after.active_ms - before.active_ms, after.buffers - before.buffers)
    return read_of(walls, cpus, done)
