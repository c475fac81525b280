"""Three ways to run the same chain, each a process that takes jobs until its block ends."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
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
    """A running process and how to give it work."""

    pid: int
    stamps: Path
    """Where its stages note when they begin."""
    run: Callable[[int], None]
    """Start so many jobs at once and wait until all of them are finished."""


@contextmanager
def celery(servers: Servers) -> Iterator[Contestant]:
    """Celery alone: ragq's settings and messages, and no database."""
    process = _Process("celery", _celery_worker("benchmarks.celery_worker"), servers)
    app = make_app(servers.valkey.url)
    numbers = count(1)

    def run(jobs: int) -> None:
        chains = [
            PendingChain(
                job_id=job,
                run_id=0,
                kind="participant",
                subject=str(job),
                stages=[PendingStage(stage, 1) for stage in NOOP_STAGES],
            )
            for _, job in zip(range(jobs), numbers, strict=False)
        ]
        process.expect(jobs)
        send(app, chains)
        process.wait_for_stamps()

    with process:
        yield Contestant(process.pid, process.stamps, run)


@contextmanager
def ragq(servers: Servers) -> Iterator[Contestant]:
    """ragq: every stage claimed, stored and audited in Postgres."""
    process = _Process("ragq", _celery_worker("benchmarks.ragq_worker"), servers)
    app = make_app(servers.valkey.url)
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
        return (await submit_run(app, database, PlannedRun(run), always_new=True)).run_id

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

        yield Contestant(process.pid, process.stamps, run)
        runner.run(database.close())


@contextmanager
def dbos(servers: Servers) -> Iterator[Contestant]:
    """DBOS: workflows and steps recorded in the same Postgres server, in a database of its own."""
    url = servers.postgres.url.rsplit("/", 1)[0] + "/dbos"
    command = [str(dbos_python()), "-m", "benchmarks.dbos_program", url, str(len(NOOP_STAGES))]
    process = _Process("dbos", command, servers)

    def run(jobs: int) -> None:
        process.say(f"{jobs}\n")
        process.hear("done\n")

    with process:
        process.hear("ready\n")
        yield Contestant(process.pid, process.stamps, run)


CONTESTANTS: Final[Mapping[str, Callable[[Servers], AbstractContextManager[Contestant]]]] = {
    "celery": celery,
    "ragq": ragq,
    "dbos": dbos,
}
"""In the order in which they take turns."""


def _celery_worker(module: str) -> list[str]:
    command = worker_command("benchmark", NOOP_STAGES, CONCURRENCY)
    return [module if word == "workers.main" else word for word in command]


class _Process:
    """A contestant's process with its log and its stamps, ended with the block."""

    def __init__(self, name: str, command: Sequence[str], servers: Servers) -> None:
        self.stamps = servers.folder / f"{name}.stamps"
        self._log = servers.folder / f"{name}.log"
        self._expected = stamps.count(self.stamps)
        environment = {
            "DATABASE_URL": servers.postgres.url,
            "REDIS_URL": servers.valkey.url,
            stamps.VARIABLE: str(self.stamps),
        }
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                command,
                cwd=PROJECT,
                env={**os.environ, **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.pid = self._process.pid

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        end(self.pid, signal.SIGTERM)
        self._process.communicate()

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def hear(self, line: str) -> None:
        assert self._process.stdout is not None
        if self._process.stdout.readline() != line:
            sys.exit(f"The process did not say {line!r}. The end of its log:\n{last_lines(self._log)}")

    def expect(self, jobs: int) -> None:
        self._expected = stamps.count(self.stamps) + jobs * len(NOOP_STAGES)

    def wait_for_stamps(self) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        while stamps.count(self.stamps) < self._expected:
            if self._process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"The worker did not finish its jobs. The end of its log:\n{last_lines(self._log)}")
            time.sleep(_POLL_S)
