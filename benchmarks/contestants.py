"""Three ways to run the same chain, each processes that take jobs until their block ends."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from benchmarks import stamps
from benchmarks.dbos_environment import dbos_python
from benchmarks.noop_chain import NOOP_STAGES
from benchmarks.servers import Servers
from schemas.settings.resolve import resolve
from schemas.settings.run import settings_hash
from services.new_runs import PlannedRun, submit_run
from stack.endings import end
from stack.logs import last_lines
from stack.processes import worker_command
from store.database import Database
from store.runs import overviews
from store.runs.pending_chains import PendingChain, PendingStage
from store.runs.runs import NewJob, NewRun
from workers.app import make_app
from workers.messages import send

CONCURRENCY: Final = 16
"""Threads of a Celery worker: as many as `ragq up` gives its model worker."""

PROJECT: Final = Path(__file__).parent.parent

_TIMEOUT_S = 120.0
_POLL_S = 0.005


class Contestant(NamedTuple):
    """Running processes and how to give them work."""

    pids: Sequence[int]
    stamps: Path
    """Where its stages note when they begin."""
    run: Callable[[int], None]
    """Start so many jobs at once and wait until all of them are finished."""


@contextmanager
def celery(
    servers: Servers, processes: int = 1, *, environment: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Contestant]:
    """Celery alone: ragq's settings and messages, and no database. `environment` is the worker's."""
    commands = _celery_workers("benchmarks.celery_worker", processes)
    process = _Processes("celery", commands, servers, environment=environment)
    app = make_app(servers.valkey.url)
    numbers = count(1)

    def run(jobs: int) -> None:
        chains = [
            PendingChain(
                job_id=job,
                run_id=0,
                kind="participant",
                subject=str(job),
                stages=[PendingStage(stage, 1, stage) for stage in NOOP_STAGES],
            )
            for _, job in zip(range(jobs), numbers, strict=False)
        ]
        process.expect(jobs)
        send(app, chains)
        process.wait_for_stamps()

    with process:
        yield Contestant(process.pids, process.stamps, run)


@contextmanager
def ragq(servers: Servers, processes: int = 1, *, checkout: Path = PROJECT) -> Iterator[Contestant]:
    """ragq: every stage claimed, stored and audited in Postgres, by the worker of a checkout."""
    process = _Processes("ragq", _celery_workers("benchmarks.ragq_worker", processes), servers, folder=checkout)
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
        return (await submit_run(database, PlannedRun(run), always_new=True)).run_id

    async def is_open(database: Database, run_id: int) -> bool:
        async with database.connection() as connection:
            overview = await overviews.overview(connection, run_id)
        return overview is not None and overview.open_jobs > 0

    with process, asyncio.Runner() as runner:
        database = Database(servers.postgres.url, pool_size=1)

        def run(jobs: int) -> None:
            process.expect(jobs)
            run_id = runner.run(submit_jobs(database, jobs))
            process.wait_for_stamps()
            while runner.run(is_open(database, run_id)):
                time.sleep(_POLL_S)

        yield Contestant(process.pids, process.stamps, run)
        runner.run(database.close())


@contextmanager
def dbos(servers: Servers, processes: int = 1) -> Iterator[Contestant]:
    """DBOS: workflows and steps recorded in the same Postgres server, in a database of its own.

    A process works on the workflows that it starts, so each is given its part of the jobs.
    """
    url = servers.postgres.url.rsplit("/", 1)[0] + "/dbos"
    command = [str(dbos_python()), "-m", "benchmarks.dbos_program", url, str(len(NOOP_STAGES))]
    process = _Processes("dbos", [command] * processes, servers)

    def run(jobs: int) -> None:
        process.say([f"{jobs // processes + (number < jobs % processes)}\n" for number in range(processes)])
        process.hear("done\n")

    with process:
        process.hear("ready\n")
        yield Contestant(process.pids, process.stamps, run)


CONTESTANTS: Final[Mapping[str, Callable[[Servers, int], AbstractContextManager[Contestant]]]] = {
    "celery": celery,
    "celery, unrecorded": partial(celery, environment={"BENCHMARK_TRANSPORT": "workers.broker:Transport"}),
    "ragq": ragq,
    "dbos": dbos,
}
"""In the order in which they take turns."""


def _celery_workers(module: str, processes: int) -> list[list[str]]:
    commands = [worker_command(f"benchmark-{number}", NOOP_STAGES, CONCURRENCY) for number in range(processes)]
    return [[module if word == "workers.main" else word for word in command] for command in commands]


class _Processes:
    """A contestant's processes with their log and their stamps, ended with the block."""

    def __init__(
        self,
        name: str,
        commands: Sequence[Sequence[str]],
        servers: Servers,
        *,
        folder: Path = PROJECT,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.stamps = servers.folder / f"{name}.stamps"
        self._log = servers.folder / f"{name}.log"
        self._expected = stamps.count(self.stamps)
        variables = {
            "DATABASE_URL": servers.postgres.url,
            "REDIS_URL": servers.valkey.url,
            stamps.VARIABLE: str(self.stamps),
        }
        with self._log.open("a") as log:
            self._processes = [
                subprocess.Popen(
                    command,
                    cwd=folder,
                    env={**os.environ, **variables, **environment},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                )
                for command in commands
            ]
        self.pids = [process.pid for process in self._processes]

    def __enter__(self) -> None:
        pass

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
            if any(process.poll() is not None for process in self._processes) or time.monotonic() > deadline:
                sys.exit(f"The worker did not finish its jobs. The end of its log:\n{last_lines(self._log)}")
            time.sleep(_POLL_S)
