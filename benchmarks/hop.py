"""The cost of a stage: the same chain of no-op stages through bare Celery, through ragq and through DBOS."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import Final, NamedTuple

import click
from platformdirs import user_cache_path

from benchmarks import stamps
from benchmarks.common import NOOP_STAGES, PROJECT, Servers, cpu_seconds, servers, show, show_machine
from schemas.settings.resolve import resolve
from schemas.settings.run import settings_hash
from services.new_runs import submit_run
from stack.logs import last_lines
from stack.parts import worker_command
from stack.supervision import end
from store.database import Database
from store.runs import overviews
from store.runs.jobs import PendingChain, PendingStage
from store.runs.runs import NewJob, NewRun
from workers.app import make_app
from workers.turns import send

DBOS_VERSION: Final = "3.4.0"
CONCURRENCY: Final = 16
"""Threads of a Celery worker: as many as `ragq up` gives its model worker."""
_WARM_UP_JOBS: Final = 20
_TIMEOUT_S: Final = 120.0
_POLL_S: Final = 0.005


class Contestant(NamedTuple):
    """Running processes and how to give them work."""

    pids: Sequence[int]
    stamps: Path
    """Where its stages note when they begin."""
    run: Callable[[int], None]
    """Start so many jobs at once and wait until all of them are finished."""


class Measured(NamedTuple):
    """One contestant in one turn, or the medians of several."""

    hop_p50_ms: float
    """From the beginning of a stage to that of the next, one job at a time."""
    hop_p95_ms: float
    stages_per_s: float
    """With all jobs sent at once, from the first sending to the end of the last job."""
    worker_cpu_ms: float
    """Per stage, of the processes that run the stages."""
    postgres_cpu_ms: float
    valkey_cpu_ms: float


@click.command(short_help="The cost of a stage against bare Celery and DBOS")
@click.option("--jobs", default=300, show_default=True, help="Jobs that are sent at once.")
@click.option("--idle-jobs", default=30, show_default=True, help="Jobs that are sent one after the other.")
@click.option("--turns", default=3, show_default=True, help="Turns of each contestant, one after the other.")
@click.option("--processes", type=click.IntRange(min=1), multiple=True, default=(1,), help="As many of each.")
@click.option("--only", type=click.Choice(["celery", "ragq", "dbos"]), multiple=True, help="Measure only these.")
def hop(jobs: int, idle_jobs: int, turns: int, processes: tuple[int, ...], only: tuple[str, ...]) -> None:
    """Send a chain of seven no-op stages through bare Celery, through ragq and through DBOS, turn by turn.

    Celery alone runs with kombu's record of unacknowledged messages: nothing else protects them.

    \b
    Example:
        python -m benchmarks hop --processes 1 --processes 2
    """
    show_machine("celery", "kombu", "redis", "asyncpg", "sqlalchemy")
    for number in processes:
        taken: dict[str, list[Measured]] = defaultdict(list)
        with servers() as running:
            for _ in range(turns):
                for name in only or CONTESTANTS:
                    with CONTESTANTS[name](running, number) as contestant:
                        taken[name].append(_measure(contestant, running, jobs, idle_jobs))
        medians = {name: Measured(*(median(column) for column in zip(*of, strict=True))) for name, of in taken.items()}
        show(
            f"{number} process(es), {len(NOOP_STAGES)} no-op stages, {jobs} jobs at once: median of {turns} turns",
            ("", "hop p50 ms", "p95 ms", "stages/s", "worker CPU ms/stage", "Postgres CPU ms/stage", "Valkey"),
            (
                (name, *(f"{value:.0f}" if value >= 100 else f"{value:.2f}" for value in of))
                for name, of in medians.items()
            ),
        )


def _measure(contestant: Contestant, running: Servers, jobs: int, idle_jobs: int) -> Measured:
    contestant.run(_WARM_UP_JOBS)
    before = stamps.count(contestant.stamps)
    for _ in range(idle_jobs):
        contestant.run(1)
    hops = stamps.hops_ms(contestant.stamps, after=before)
    measured = (contestant.pids, [running.postgres_pid], [running.valkey_pid])
    cpu_before, began = [cpu_seconds(*pids) for pids in measured], time.perf_counter()
    contestant.run(jobs)
    wall_s, stages = time.perf_counter() - began, jobs * len(NOOP_STAGES)
    cpu_ms = ((cpu_seconds(*pids) - old) * 1000 / stages for pids, old in zip(measured, cpu_before, strict=True))
    return Measured(median(hops), quantiles(hops, n=20)[-1], stages / wall_s, *cpu_ms)


@contextmanager
def celery(servers: Servers, processes: int) -> Iterator[Contestant]:
    """Celery alone: ragq's settings and messages, and no database."""
    running = Processes("celery", celery_workers("benchmarks.celery_worker", processes), servers)
    app = make_app(servers.redis_url)
    numbers = count(1)

    def run(jobs: int) -> None:
        stages = [PendingStage(stage, 1, stage) for stage in NOOP_STAGES]
        chains = [
            PendingChain(job_id=job, run_id=0, kind="participant", subject=str(job), stages=stages)
            for _, job in zip(range(jobs), numbers, strict=False)
        ]
        running.expect(jobs)
        send(app, chains)
        running.wait_for_stamps()

    with running:
        yield Contestant(running.pids, running.stamps, run)


@contextmanager
def ragq(servers: Servers, processes: int) -> Iterator[Contestant]:
    """ragq: every stage claimed, stored and audited in Postgres."""
    running = Processes("ragq", celery_workers("benchmarks.noop", processes), servers)
    settings = resolve(profile="demo", environment={})

    async def submit_jobs(database: Database, jobs: int) -> int:
        run = NewRun(
            kind="noop",
            profile=settings.profile,
            settings=settings.snapshot(),
            settings_hash=settings_hash(settings.run),
            request={},
            version="0",
            jobs=[NewJob(mode="noop", subject=str(job), inputs={}, stages=NOOP_STAGES) for job in range(jobs)],
        )
        return (await submit_run(database, run, always_new=True)).run_id

    async def is_open(database: Database, run_id: int) -> bool:
        async with database.connection() as connection:
            overview = await overviews.get(connection, run_id)
        return overview.open_jobs > 0

    with running, asyncio.Runner() as runner:
        database = Database(servers.database_url, pool_size=1)

        def run(jobs: int) -> None:
            running.expect(jobs)
            run_id = runner.run(submit_jobs(database, jobs))
            running.wait_for_stamps()
            while runner.run(is_open(database, run_id)):
                time.sleep(_POLL_S)

        yield Contestant(running.pids, running.stamps, run)
        runner.run(database.close())


@contextmanager
def dbos(servers: Servers, processes: int) -> Iterator[Contestant]:
    """DBOS: workflows and steps recorded in the same Postgres server, in a database of its own.

    A process works on the workflows that it starts, so each is given its part of the jobs.
    """
    url = servers.database_url.rsplit("/", 1)[0] + "/dbos"
    command = [str(_dbos_python()), "-m", "benchmarks.dbos_program", url, str(len(NOOP_STAGES))]
    running = Processes("dbos", [command] * processes, servers)

    def run(jobs: int) -> None:
        running.say([f"{jobs // processes + (number < jobs % processes)}\n" for number in range(processes)])
        running.hear("done\n")

    with running:
        running.hear("ready\n")
        yield Contestant(running.pids, running.stamps, run)


CONTESTANTS: Final[Mapping[str, Callable[[Servers, int], AbstractContextManager[Contestant]]]] = {
    "celery": celery,
    "ragq": ragq,
    "dbos": dbos,
}
"""In the order in which they take turns."""


def celery_workers(module: str, processes: int, queues: Sequence[str] = NOOP_STAGES) -> list[list[str]]:
    """The commands of workers with the application of a module."""
    commands = [worker_command(f"benchmark-{number}", queues, CONCURRENCY) for number in range(processes)]
    return [[module if word == "workers.main" else word for word in command] for command in commands]


def _dbos_python() -> Path:
    """The Python of an environment that has DBOS, which is made once in the user's cache folder."""
    python_version = f"{sys.version_info.major}.{sys.version_info.minor}"
    python = user_cache_path("ragq") / f"dbos-{DBOS_VERSION}-python-{python_version}" / "bin" / "python"
    question = f"from importlib.metadata import version; assert version('dbos') == '{DBOS_VERSION}'"
    if not python.exists() or subprocess.run([python, "-c", question], stderr=subprocess.DEVNULL).returncode:
        subprocess.run([sys.executable, "-m", "venv", "--clear", python.parent.parent], check=True)
        install = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", f"dbos=={DBOS_VERSION}"]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    return python


class Processes:
    """A contestant's processes with their log and their stamps, ended with the block."""

    def __init__(self, name: str, commands: Sequence[Sequence[str]], servers: Servers) -> None:
        self.stamps = servers.folder / f"{name}.stamps"
        self._log = servers.folder / f"{name}.log"
        self._expected = 0
        variables = {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url}
        with self._log.open("a") as log:
            self._processes = [
                subprocess.Popen(
                    command,
                    cwd=PROJECT,
                    env={**os.environ, **variables, stamps.VARIABLE: str(self.stamps)},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                )
                for command in commands
            ]
        self.pids = [process.pid for process in self._processes]

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self.pids:
            end(pid, signal.SIGTERM)
        for process in self._processes:
            process.communicate()

    def say(self, lines: Sequence[str]) -> None:
        for process, line in zip(self._processes, lines, strict=True):
            assert process.stdin is not None
            process.stdin.write(line)
            process.stdin.flush()

    def hear(self, line: str) -> None:
        for process in self._processes:
            assert process.stdout is not None
            if process.stdout.readline() != line:
                sys.exit(f"The process did not say {line!r}. The end of its log:\n{last_lines(self._log)}")

    def expect(self, jobs: int) -> None:
        self._expected = stamps.count(self.stamps) + jobs * len(NOOP_STAGES)

    def wait_for_stamps(self) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        while stamps.count(self.stamps) < self._expected:
            self.check(is_late=time.monotonic() > deadline)
            time.sleep(_POLL_S)

    def check(self, *, is_late: bool = False) -> None:
        """End this program with the end of the log where a process has ended."""
        if is_late or any(process.poll() is not None for process in self._processes):
            sys.exit(f"The worker did not finish its jobs. The end of its log:\n{last_lines(self._log)}")
