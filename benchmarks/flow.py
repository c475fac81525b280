"""Many jobs at once: what submitting, cancelling, retrying and draining them takes, by their number."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from statistics import median, quantiles
from typing import Final, TypeVar

import click
import redis

from benchmarks.common import PROJECT, Servers, cpu_seconds, environment, servers, show, show_machine
from benchmarks.hop import Processes, celery_workers
from schemas.chains import queues_named, stages_of
from schemas.settings.resolve import resolve
from schemas.values.requests import TagsRequest
from schemas.values.tags import PhraseSet
from services.submit import submit
from store.database import Connection, Database
from store.runs.jobs import OPEN_JOBS

STAGES: Final = stages_of("tags", "candidates")

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
TABLES: Final = "SELECT pg_total_relation_size('job') + pg_total_relation_size('stage_run')"
DONE: Final = "SELECT count(*) FROM job WHERE run_id = $1 AND status = 'succeeded'"
SEEN: Final = "SELECT count(*) FROM worker WHERE seen_at > now() - interval '3 seconds'"
OPEN: Final = f"SELECT count(*) FROM job WHERE run_id = $1 AND status IN {OPEN_JOBS}"

_SINGLE_SETS: Final = 8
_SINGLE_SET_TIMEOUT_S: Final = 20.0
_POLL_S: Final = 0.01
_LONG_SECONDS: Final = 1800.0
_WARM_UP_S: Final = 3.0

Found = TypeVar("Found")


@click.command(short_help="Submit, cancel, retry and drain many jobs")
@click.option("--sizes", default="10000,100000", show_default=True, help="Jobs of a run, with commas between.")
@click.option("--drain-seconds", default=20.0, show_default=True, help="Workers run so long at each size.")
def flow(sizes: str, drain_seconds: float) -> None:
    """Submit runs of 10,000 to 1,000,000 sets of phrases by the command line; cancel, retry and drain them.

    The stages do nothing. While they are drained, single sets are submitted behind them. The rows of smaller sizes stay
    in the tables.

    \b
    Example:
        python -m benchmarks flow --sizes 10000,100000,1000000
    """
    show_machine("celery", "asyncpg")
    with servers() as running, asyncio.Runner() as runner:
        bench = _Bench(running, runner)
        for size in sizes.split(","):
            bench.measure(int(size), drain_seconds)
        bench.close()


class _Bench:
    """One database and one broker for all sizes."""

    def __init__(self, running: Servers, runner: asyncio.Runner) -> None:
        self._running = running
        self._runner = runner
        self._database = Database(running.database_url, pool_size=2)
        urls = {"DATABASE_URL": running.database_url, "REDIS_URL": running.redis_url}
        self._environment = environment(running.folder / "home", **urls)
        self._execute(VOCABULARY)

    def close(self) -> None:
        self._runner.run(self._database.close())

    def measure(self, size: int, drain_s: float) -> None:
        """Print what a run of so many jobs takes: in the tables before it ran, by commands, and while it drains."""
        commands: dict[str, float] = {}
        before = self._asks(TABLES)
        commands["submit"], run = self._submitted(size)
        stored_kb = (self._asks(TABLES) - before) / size / 1e3
        commands["cancel"] = self._ragq("cancel", run)[0]
        commands["submit again"], run = self._submitted(size, "--new")
        run_id = int(run[1:])
        for statement in BREAK:
            self._execute(statement, run_id)
        for table in ("job", "stage_run"):
            self._execute(f"VACUUM ANALYZE {table}")
        commands["retry"] = self._ragq("retry", run)[0]
        rows = ((name, f"{seconds:.1f}") for name, seconds in commands.items())
        show(f"{size:,} jobs, {stored_kb:.2f} KB each in the tables", ("command", "s"), rows)
        self._drain(run_id, drain_s)
        if self._asks(OPEN, run_id):
            self._ragq("cancel", run)
        with redis.Redis.from_url(self._running.redis_url) as client:
            # Messages of jobs that are cancelled: the next size begins without them.
            client.flushall()

    def _submitted(self, size: int, *options: str) -> tuple[float, str]:
        path = self._running.folder / "phrases.txt"
        with path.open("w") as file:
            file.writelines(f"red dress {number}, seated man, overcoat\n" for number in range(size))
        taken, printed = self._ragq("submit", "--phrases", str(path), "--vocabulary", "flow", *options, "--json")
        run: str = json.loads(printed)["run"]
        return taken, run

    def _ragq(self, *words: str) -> tuple[float, str]:
        """The seconds of a command of ragq in a process of its own, and what it printed."""
        began = time.perf_counter()
        ran = subprocess.run(
            [sys.executable, "-c", "from cli.main import main; main()", *words],
            cwd=PROJECT,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        )
        return time.perf_counter() - began, ran.stdout

    def _drain(self, run_id: int, seconds: float) -> None:
        commands = celery_workers("benchmarks.noop", 1, queues_named(STAGES))
        with Processes("flow", commands, self._running) as worker:
            while not self._asks(SEEN):
                worker.check()
                time.sleep(_POLL_S)
            time.sleep(_WARM_UP_S)
            before, cpu_before = self._asks(DONE, run_id), cpu_seconds(self._running.postgres_pid)
            began = time.perf_counter()
            time.sleep(seconds)
            wall_s = time.perf_counter() - began
            stages = max((self._asks(DONE, run_id) - before) * len(STAGES), 1)
            postgres_s = cpu_seconds(self._running.postgres_pid) - cpu_before
            with redis.Redis.from_url(self._running.redis_url) as client:
                broker_mb = float(client.info("memory")["used_memory"]) / 1e6
            alone = self._single_sets()
        p95_s = quantiles(alone, n=20, method="inclusive")[-1]
        click.echo(
            f"While they wait: {stages / wall_s:.0f} stages/s, {postgres_s * 1000 / stages:.2f} ms of Postgres each; "
            f"broker {broker_mb:.1f} MB; a single set behind them takes {median(alone):.2f} s (p50) and {p95_s:.2f} s "
            "(p95)."
        )

    def _single_sets(self) -> Sequence[float]:
        seconds: list[float] = []
        # Two that wait in vain show it as well as eight.
        while len(seconds) < _SINGLE_SETS and sum(one >= _SINGLE_SET_TIMEOUT_S for one in seconds) < 2:
            seconds.append(self._single_set(len(seconds)))
        return seconds

    def _single_set(self, number: int) -> float:
        """Seconds until a set that is submitted now is done, at most the timeout."""
        request = TagsRequest(phrase_sets=[PhraseSet(id="1", phrases=(f"hat {number}",))], vocabulary="flow")
        settings = resolve(profile="demo", environment={})
        began = time.perf_counter()
        (submitted,) = self._runner.run(submit(self._database, request, settings, always_new=True))
        while self._asks(OPEN, submitted.run_id) and time.perf_counter() - began < _SINGLE_SET_TIMEOUT_S:
            time.sleep(_POLL_S)
        return time.perf_counter() - began

    def _asks(self, statement: str, *arguments: int) -> int:
        return int(self._connected(lambda connection: connection.fetchval(statement, *arguments)))

    def _execute(self, statement: str, *arguments: int) -> None:
        self._connected(lambda connection: connection.execute(statement, *arguments, timeout=_LONG_SECONDS))

    def _connected(self, work: Callable[[Connection], Awaitable[Found]]) -> Found:
        async def connected() -> Found:
            async with self._database.connection() as connection:
                return await work(connection)

        return self._runner.run(connected())
