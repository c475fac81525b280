"""The time from the death of a worker to the restart of its stage, with ragq's default time constants."""

import asyncio
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final, NamedTuple, TypeVar

import click
from rich.console import Console
from rich.table import Table

from benchmarks.contestants import PROJECT
from benchmarks.machine import this_machine
from benchmarks.noop_chain import NOOP_STAGES
from benchmarks.servers import Servers, servers
from schemas.settings.resolve import resolve
from schemas.settings.run import settings_hash
from services.new_runs import PlannedRun, submit_run
from stack.endings import end
from stack.processes import worker_command
from store.database import Connection, Database
from store.runs.runs import NewJob, NewRun

Found = TypeVar("Found")

NAP_STAGE: Final = NOOP_STAGES[0]
PACKAGES: Final = ("ragq", "celery", "kombu")
GOAL_P95_S: Final = 10.0

SITUATIONS: Final[Mapping[str, int]] = {"another worker runs": 2, "the only worker is started again": 1}
"""Workers that run when one of them is killed."""

HOLDER = """
SELECT w.pid FROM stage_attempt AS a JOIN worker AS w ON w.id = a.worker_id WHERE a.job_id = $1 AND a.number = 1
"""

#: By the database's clock, like all times.
STILL_FOR = """
SELECT extract(epoch FROM started_at - $2::timestamptz)::float8 FROM stage_attempt WHERE job_id = $1 AND number = 2
"""

_POLL_S = 0.01
_TIMEOUT_S = 60.0


class Recovery(NamedTuple):
    """Seconds from a SIGKILL to the next start of the stage, over many kills."""

    p50_s: float
    p95_s: float
    longest_s: float


@click.command(short_help="Seconds from the death of a worker to its stage running again")
@click.option("--kills", default=20, show_default=True, help="In each situation.")
@click.option("--seed", default=1, show_default=True, help="Decides when between two heartbeats a worker dies.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write all results to this file."
)
def recovery(kills: int, seed: int, json_file: Path | None) -> None:
    """Kill a worker in the middle of a stage, again and again, and wait until the stage runs again.

    Example:

    \b
        python -m benchmarks recovery --json recovery.json
    """
    machine = this_machine(PACKAGES)
    with servers() as running:
        taken = {
            situation: _measure(running, workers, kills, random.Random(seed))
            for situation, workers in SITUATIONS.items()
        }
    summary = {situation: recovery_of(seconds) for situation, seconds in taken.items()}
    console = Console(width=110)
    console.print(machine.sentence(), highlight=False)
    console.print(_table(summary, kills))
    if json_file is not None:
        content: dict[str, Any] = {"machine": machine._asdict(), "goal_p95_s": GOAL_P95_S, "seconds": taken}
        content["summary"] = {situation: found._asdict() for situation, found in summary.items()}
        json_file.write_text(json.dumps(content, indent=2) + "\n")


def recovery_of(seconds: list[float]) -> Recovery:
    """The summary of at least two recoveries."""
    return Recovery(median(seconds), quantiles(seconds, n=20, method="inclusive")[-1], max(seconds))


def _measure(running: Servers, workers: int, kills: int, chance: random.Random) -> list[float]:
    with asyncio.Runner() as runner:
        farm = _Farm(running, runner)
        try:
            for _ in range(workers):
                farm.start_worker()
            return [farm.kill_one(chance.uniform(0.0, 1.0)) for _ in range(kills)]
        finally:
            farm.close()


class _Farm:
    """Workers over a database, one nap at a time."""

    def __init__(self, running: Servers, runner: asyncio.Runner) -> None:
        self._running = running
        self._runner = runner
        self._database = Database(running.postgres.url, pool_size=1)
        self._settings = resolve(profile="demo", environment={})
        self._workers: dict[int, subprocess.Popen[bytes]] = {}
        self._numbers = count(1)

    def start_worker(self, *, wait: bool = True) -> None:
        command = worker_command(f"nap{next(self._numbers)}", (NAP_STAGE,), 4)
        process = subprocess.Popen(
            ["benchmarks.napping_worker" if word == "workers.main" else word for word in command],
            cwd=PROJECT,
            env={**os.environ, "DATABASE_URL": self._running.postgres.url, "REDIS_URL": self._running.valkey.url},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._workers[process.pid] = process
        if wait:
            self._await("SELECT 1 FROM worker WHERE pid = $1", process.pid)

    def kill_one(self, after_s: float) -> float:
        """Seconds that the nap of a killed worker lay still; another worker is there at the end."""
        job_id = self._submit()
        pid = self._await(HOLDER, job_id)
        time.sleep(after_s)
        killed_at = self._await("SELECT clock_timestamp()")
        os.kill(pid, signal.SIGKILL)
        self._workers.pop(pid).wait()
        self.start_worker(wait=False)
        still_s: float = self._await(STILL_FOR, job_id, killed_at)
        for worker in self._workers:
            self._await("SELECT 1 FROM worker WHERE pid = $1", worker)
        return still_s

    def close(self) -> None:
        for pid, process in self._workers.items():
            end(pid, signal.SIGTERM)
            process.wait()
        self._runner.run(self._database.close())

    def _submit(self) -> int:
        run = NewRun(
            kind="nap",
            profile=self._settings.profile,
            settings=self._settings.snapshot(),
            settings_hash=settings_hash(self._settings.run),
            request={},
            version="0",
            jobs=[NewJob(mode="nap", subject="1", inputs={}, stages=(NAP_STAGE,))],
        )
        submitted = self._runner.run(submit_run(self._database, PlannedRun(run), always_new=True))
        job_id: int = self._await("SELECT id FROM job WHERE run_id = $1", submitted.run_id)
        return job_id

    def _await(self, query: str, *arguments: object) -> Any:
        """The first value that a query gives, as soon as it gives one."""

        async def ask(connection: Connection) -> Any:
            return await connection.fetchval(query, *arguments)

        deadline = time.monotonic() + _TIMEOUT_S
        while (found := self._in_database(ask)) is None:
            if time.monotonic() > deadline:
                raise click.ClickException(f"Nothing came of it within {_TIMEOUT_S:g} s: {query.strip()} {arguments}")
            time.sleep(_POLL_S)
        return found

    def _in_database(self, work: Callable[[Connection], Awaitable[Found]]) -> Found:
        async def connected() -> Found:
            async with self._database.connection() as connection:
                return await work(connection)

        return self._runner.run(connected())


def _table(summary: Mapping[str, Recovery], kills: int) -> Table:
    table = Table(
        title=f"Seconds from SIGKILL to the stage running again, {kills} kills each, goal p95 < {GOAL_P95_S:g}"
    )
    table.add_column("when")
    for heading in ("p50", "p95", "longest"):
        table.add_column(heading, justify="right")
    for situation, found in summary.items():
        table.add_row(situation, *(f"{seconds:.1f}" for seconds in found))
    return table
