"""Many jobs at once: what submitting, cancelling, retrying, draining and reading them takes, by their number."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final, NamedTuple, TypeVar

import click
import redis
from rich.console import Console
from rich.table import Table

from benchmarks import cpu
from benchmarks.contestants import CONCURRENCY, PROJECT
from benchmarks.machine import Machine, this_machine
from benchmarks.stack import SERVERS
from benchmarks.statements import RESET, Statement, counting_postgres, statements
from schemas.chains import queues_named, stages_of
from schemas.settings.resolve import resolve
from schemas.values.tags import PhraseSet
from services.submit import submit
from services.tags import TagsRequest
from stack.endings import end
from stack.postgres import PostgresServer
from stack.processes import worker_command
from stack.valkey import ValkeyServer
from store.database import Connection, Database
from store.runs import jobs, overviews, queue_figures
from store.runs.run_view import run_view
from store.views.run_state import run_state

PACKAGES: Final = ("ragq", "celery", "asyncpg")
STAGES: Final = stages_of("tags", "candidates")
GOALS: Final[Mapping[tuple[str, int], float]] = {
    ("submit", 10_000): 3.0,
    ("submit", 1_000_000): 90.0,
    ("cancel", 10_000): 2.0,
    ("retry", 10_000): 2.0,
}
"""Seconds of a whole command, from its start to its exit."""

VOCABULARY: Final = """
INSERT INTO vocabulary
    (name, tags, aliases, documents, model, model_digest, context_digest, similarity_digest, dimension)
VALUES ('flow', 0, 0, 0, 'fasttext', repeat('a', 64), repeat('b', 64), repeat('c', 64), 100)
"""

BREAK: Final = (
    "UPDATE job SET status = 'failed', finished_at = now() WHERE run_id = $1",
    "UPDATE stage_run AS s SET status = 'failed', attempts = 1, enq_at = NULL FROM job AS j "
    "WHERE j.id = s.job_id AND j.run_id = $1 AND s.position = 0",
)

WAL: Final = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"
TABLES: Final = "SELECT pg_total_relation_size('job') + pg_total_relation_size('stage_run')"
DONE: Final = "SELECT count(*) FROM job WHERE run_id = $1 AND status = 'succeeded'"
SEEN: Final = "SELECT count(*) FROM worker WHERE seen_at > now() - interval '3 seconds'"
OPEN: Final = "SELECT count(*) FROM job WHERE run_id = $1 AND status IN ('waiting', 'running', 'interrupted')"

_QUESTIONS: Final = 8
_QUESTION_TIMEOUT_S: Final = 20.0
_POLL_S: Final = 0.01
_LONG_SECONDS: Final = 1800.0
_WARM_UP_S: Final = 3.0
_SHOWN_STATEMENTS: Final = 14
_PAGE: Final = 50

Found = TypeVar("Found")


class Command(NamedTuple):
    """A command of ragq, from its start to its exit."""

    wall_s: float
    cpu_s: float
    postgres_cpu_s: float
    peak_mb: float


class Waiting(NamedTuple):
    """How long a single set of phrases takes."""

    p50_s: float
    p95_s: float


class Drained(NamedTuple):
    """What workers do while so many jobs wait."""

    stages_per_s: float
    postgres_cpu_ms: float
    """Per stage."""
    wal_kb: float
    """Written to the log of Postgres, per stage."""
    broker_mb: float
    """Memory of the broker's keys."""
    alone: Waiting
    """A single set, submitted behind them."""
    share: float
    """Of a second run among the jobs that both finished."""


class Size(NamedTuple):
    """Everything at one number of jobs."""

    jobs: int
    stored_kb: float
    """Of the tables of jobs and stages with their indexes, per job that was submitted and not run."""
    commands: dict[str, Command]
    drained: Drained | None
    reads_ms: dict[str, float]
    statements: dict[str, Statement]


@click.command(short_help="Submit, cancel, retry, drain and read many jobs")
@click.option("--sizes", default="10000,100000", show_default=True, help="Jobs of a run, with commas between.")
@click.option("--drain-seconds", default=20.0, show_default=True, help="Workers run so long at each size; 0: none.")
@click.option("--workers", default=1, show_default=True, help="Worker processes while it drains.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write all results to this file."
)
def flow(sizes: str, drain_seconds: float, workers: int, json_file: Path | None) -> None:
    """Submit runs of 10,000 to 1,000,000 sets of phrases by the command line; cancel, retry and drain them.

    The stages do nothing. While they are drained, single sets are submitted behind them, and a second run beside them;
    Postgres counts what each statement takes. The rows of smaller sizes stay in the tables.

    Example:

    \b
        python -m benchmarks flow --sizes 10000,100000,1000000 --json flow.json
    """
    machine = this_machine(PACKAGES)
    with _servers() as running, asyncio.Runner() as runner:
        bench = _Bench(running, runner)
        idle = bench.idle(workers) if drain_seconds else None
        measured: list[Size] = []
        for size in sizes.split(","):
            measured.append(bench.measure(int(size), drain_seconds, workers))
            # The largest takes long: what was measured before it is kept.
            if json_file is not None:
                json_file.write_text(json.dumps(_content(machine, idle, measured), indent=2) + "\n")
        bench.close()
    _show(machine, idle, measured)


class _Running(NamedTuple):
    postgres: PostgresServer
    valkey: ValkeyServer
    folder: Path


@contextmanager
def _servers() -> Iterator[_Running]:
    with tempfile.TemporaryDirectory(prefix="ragq-benchmark-") as name:
        folder = Path(name)
        # Postgres does not run as root: another account has to reach its folder.
        folder.chmod(0o711)
        with (
            counting_postgres(folder / "postgres") as postgres,
            ValkeyServer(folder / "valkey", durable=True) as valkey,
        ):
            yield _Running(postgres, valkey, folder)


class _Bench:
    """One database and one broker for all sizes."""

    def __init__(self, running: _Running, runner: asyncio.Runner) -> None:
        self._running = running
        self._runner = runner
        self._database = Database(running.postgres.url, pool_size=2)
        kept = {name: value for name, value in os.environ.items() if name not in SERVERS}
        self._environment = kept | {
            "DATABASE_URL": running.postgres.url,
            "REDIS_URL": running.valkey.url,
            "RAGQ_HOME": str(running.folder / "home"),
            "RAGQ_PROFILE": "demo",
        }
        self._asks(lambda connection: connection.execute(f"CREATE EXTENSION pg_stat_statements; {VOCABULARY}"))

    def close(self) -> None:
        self._runner.run(self._database.close())

    def idle(self, workers: int) -> Waiting:
        """A single set with nothing else to do."""
        with self._workers(workers):
            return self._single_sets()

    def measure(self, size: int, drain_s: float, workers: int) -> Size:
        commands: dict[str, Command] = {}
        size_before = self._asks(lambda connection: connection.fetchval(TABLES))
        commands["submit"], run = self._submitted(size)
        stored_kb = (self._asks(lambda connection: connection.fetchval(TABLES)) - size_before) / size / 1e3
        commands["cancel"] = self._ragq("cancel", run)[0]
        commands["submit again"], run = self._submitted(size, "--new")
        run_id = int(run[1:])
        for statement in BREAK:
            self._asks(partial(_execute, statement, run_id))
        for table in ("job", "stage_run"):
            self._asks(partial(_execute, f"VACUUM ANALYZE {table}", None))
        commands["retry"] = self._ragq("retry", run)[0]
        reads = self._reads(run_id)
        self._asks(lambda connection: connection.execute(RESET))
        drained = self._drain(run_id, drain_s, workers) if drain_s else None
        found = self._asks(statements)
        self._end(run)
        self._flush()
        return Size(size, stored_kb, commands, drained, reads, found)

    def _submitted(self, size: int, *options: str) -> tuple[Command, str]:
        path = self._running.folder / "phrases.txt"
        with path.open("w") as file:
            file.writelines(f"red dress {number}, seated man, overcoat\n" for number in range(size))
        taken, printed = self._ragq("submit", "--phrases", str(path), "--vocabulary", "flow", *options, "--json")
        run: str = json.loads(printed)["run"]
        return taken, run

    def _ragq(self, *words: str) -> tuple[Command, str]:
        """A command of ragq in a process of its own, and what it printed."""
        before = cpu.seconds(self._running.postgres.pid)
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-c", "from cli.main import main; main()", *words],
            cwd=PROJECT,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        if process.returncode:
            raise click.ClickException(f"ragq {' '.join(words[:2])} ended with {process.returncode}.")
        cpu_s = usage.ru_utime + usage.ru_stime
        postgres_s = cpu.seconds(self._running.postgres.pid) - before
        return Command(wall_s, cpu_s, postgres_s, usage.ru_maxrss / 1000), printed

    def _reads(self, run_id: int) -> dict[str, float]:
        """Milliseconds of what commands and pages read, the best of three."""

        async def page(connection: Connection) -> None:
            chosen = await jobs.most_urgent(connection, run_id, limit=_PAGE)
            await run_view(connection, run_id, job_ids=chosen)

        reads: dict[str, Callable[[Connection], Awaitable[Any]]] = {
            "ragq runs": lambda connection: overviews.overviews(connection),
            "a part of the run's page": page,
            "state of a run that is watched": lambda connection: run_state(connection, run_id),
            "/metrics: the queue": queue_figures.queue_figures,
        }
        return {name: min(self._milliseconds(read) for _ in range(3)) for name, read in reads.items()}

    def _milliseconds(self, read: Callable[[Connection], Awaitable[Any]]) -> float:
        async def timed(connection: Connection) -> float:
            began = time.perf_counter()
            await read(connection)
            return (time.perf_counter() - began) * 1000

        return self._asks(timed)

    def _drain(self, run_id: int, seconds: float, workers: int) -> Drained:
        with self._workers(workers):
            time.sleep(_WARM_UP_S)
            before, cpu_before = self._done(run_id), cpu.seconds(self._running.postgres.pid)
            wal_before = self._asks(lambda connection: connection.fetchval(WAL))
            began = time.perf_counter()
            time.sleep(seconds)
            wall_s = time.perf_counter() - began
            done = self._done(run_id) - before
            postgres_s = cpu.seconds(self._running.postgres.pid) - cpu_before
            wal = self._asks(lambda connection: connection.fetchval(WAL)) - wal_before
            broker_mb = self._broker_mb()
            _, other = self._submitted(2_000, "--new")
            first_before, other_id = self._done(run_id), int(other[1:])
            time.sleep(seconds)
            of_other, of_first = self._done(other_id), self._done(run_id) - first_before
            alone = self._single_sets()
        self._end(other)
        stages = max(done * len(STAGES), 1)
        return Drained(
            stages_per_s=done * len(STAGES) / wall_s,
            postgres_cpu_ms=postgres_s * 1000 / stages,
            wal_kb=float(wal) / 1e3 / stages,
            broker_mb=broker_mb,
            alone=alone,
            share=of_other / max(of_first + of_other, 1),
        )

    def _single_sets(self) -> Waiting:
        seconds: list[float] = []
        # Two that wait in vain show it as well as eight.
        while len(seconds) < _QUESTIONS and sum(one >= _QUESTION_TIMEOUT_S for one in seconds) < 2:
            seconds.append(self._single_set(len(seconds)))
        return Waiting(median(seconds), quantiles(seconds, n=20, method="inclusive")[-1])

    def _single_set(self, number: int) -> float:
        """Seconds until a set that is submitted now is done, at most the timeout."""
        request = TagsRequest(phrase_sets=[PhraseSet(id="1", phrases=(f"hat {number}",))], vocabulary="flow")
        began = time.perf_counter()
        submitted = self._runner.run(
            submit(self._database, request, resolve(profile="demo", environment={}), always_new=True)
        )
        while self._open(submitted.run_id) and time.perf_counter() - began < _QUESTION_TIMEOUT_S:
            time.sleep(_POLL_S)
        return time.perf_counter() - began

    @contextmanager
    def _workers(self, count: int) -> Iterator[None]:
        processes = []
        for number in range(count):
            command = worker_command(f"flow{number}", queues_named(STAGES), CONCURRENCY)
            with (self._running.folder / f"flow{number}.log").open("a") as log:
                processes.append(
                    subprocess.Popen(
                        ["benchmarks.noop_tags_worker" if word == "workers.main" else word for word in command],
                        cwd=PROJECT,
                        env=self._environment,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                    )
                )
        try:
            while self._asks(lambda connection: connection.fetchval(SEEN)) < count:
                time.sleep(_POLL_S)
            yield
        finally:
            for process in processes:
                end(process.pid, signal.SIGTERM)
                process.wait()

    def _end(self, run: str) -> None:
        if self._open(int(run[1:])):
            self._ragq("cancel", run)

    def _done(self, run_id: int) -> int:
        return int(self._asks(lambda connection: connection.fetchval(DONE, run_id)))

    def _open(self, run_id: int) -> int:
        return int(self._asks(lambda connection: connection.fetchval(OPEN, run_id)))

    def _broker_mb(self) -> float:
        with redis.Redis.from_url(self._running.valkey.url) as client:
            return float(client.info("memory")["used_memory"]) / 1e6

    def _flush(self) -> None:
        """Forget messages of jobs that are cancelled, so that the next size begins without them."""
        with redis.Redis.from_url(self._running.valkey.url) as client:
            client.flushall()

    def _asks(self, work: Callable[[Connection], Awaitable[Found]]) -> Found:
        async def connected() -> Found:
            async with self._database.connection() as connection:
                return await work(connection)

        return self._runner.run(connected())


async def _execute(statement: str, run_id: int | None, connection: Connection) -> None:
    await connection.execute(statement, *(() if run_id is None else (run_id,)), timeout=_LONG_SECONDS)


def _show(machine: Machine, idle: Waiting | None, measured: list[Size]) -> None:
    console = Console(width=140)
    console.print(machine.sentence(), highlight=False)
    commands = Table("command", title="Whole commands", title_justify="left")
    for heading in ("jobs", "wall s", "goal", "CPU s", "Postgres CPU s", "peak MB"):
        commands.add_column(heading, justify="right")
    for size in measured:
        for name, taken in size.commands.items():
            goal = GOALS.get((name, size.jobs))
            commands.add_row(
                name,
                f"{size.jobs:,}",
                f"{taken.wall_s:.1f}",
                "" if goal is None else f"<= {goal:g}",
                f"{taken.cpu_s:.1f}",
                f"{taken.postgres_cpu_s:.1f}",
                f"{taken.peak_mb:.0f}",
            )
    console.print(commands)
    for size in measured:
        console.print(f"{size.jobs:,} jobs: {size.stored_kb:.2f} KB a job in the tables.", highlight=False)
    if idle is not None:
        _show_drained(console, idle, measured)
    _show_growth(console, "Reads, ms", measured, {size.jobs: size.reads_ms for size in measured})
    means = {
        size.jobs: {name: one.mean_ms for name, one in list(size.statements.items())[:_SHOWN_STATEMENTS]}
        for size in measured
    }
    _show_growth(console, "Statements while workers run, mean ms of a call", measured, means)


def _show_drained(console: Console, idle: Waiting, measured: list[Size]) -> None:
    table = Table("jobs waiting", title="While workers run", title_justify="left")
    for heading in (
        "stages/s",
        "Postgres ms/stage",
        "WAL KB/stage",
        "broker MB",
        "single set p50 s",
        "p95 s",
        "second run's share",
    ):
        table.add_column(heading, justify="right")
    table.add_row("0", "", "", "", "", f"{idle.p50_s:.2f}", f"{idle.p95_s:.2f}", "")
    for size in measured:
        if (found := size.drained) is not None:
            table.add_row(
                f"{size.jobs:,}",
                f"{found.stages_per_s:.0f}",
                f"{found.postgres_cpu_ms:.2f}",
                f"{found.wal_kb:.1f}",
                f"{found.broker_mb:.1f}",
                f"{found.alone.p50_s:.2f}",
                f"{found.alone.p95_s:.2f}",
                f"{found.share:.0%}",
            )
    console.print(table)


def _show_growth(console: Console, title: str, measured: list[Size], found: Mapping[int, Mapping[str, float]]) -> None:
    table = Table("", title=title, title_justify="left")
    for size in measured:
        table.add_column(f"{size.jobs:,}", justify="right")
    for name in dict.fromkeys(name for one in found.values() for name in one):
        cells = (found[size.jobs].get(name) for size in measured)
        table.add_row(name, *("" if cell is None else f"{cell:.2f}" for cell in cells))
    console.print(table)


def _content(machine: Machine, idle: Waiting | None, measured: list[Size]) -> dict[str, Any]:
    return {
        "machine": machine._asdict(),
        "idle": None if idle is None else idle._asdict(),
        "sizes": [_size_content(one) for one in measured],
    }


def _size_content(size: Size) -> dict[str, Any]:
    return {
        "jobs": size.jobs,
        "stored_kb": size.stored_kb,
        "commands": {name: taken._asdict() for name, taken in size.commands.items()},
        "drained": None if size.drained is None else size.drained._asdict() | {"alone": size.drained.alone._asdict()},
        "reads_ms": size.reads_ms,
        "statements": [one._asdict() for one in size.statements.values()],
    }
