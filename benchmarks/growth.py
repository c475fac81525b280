"""The statements that workers repeat, over millions of finished stages: time and pages as a database grows.

Pages are those that the statements and their triggers touch, in memory or not, as Postgres counts them (auto_explain):
they do not depend on what else the machine does.
"""

import asyncio
import json
import re
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import asyncpg
import click
from rich.console import Console
from rich.table import Table

from benchmarks.machine import this_machine
from schemas.chains import stages_of
from stack.postgres import PostgresServer
from store import migrate
from store.database import Connection, Database
from store.references import index_runs
from store.runs import backlog, clock, hung_workers, queue_figures, runs, stages
from store.runs.runs import NewJob, NewRun
from store.runs.stages import Claim

PACKAGES: Final = ("ragq", "asyncpg")
_STAGES: Final = stages_of("participant", "few_shot")
_AT_ONCE: Final = 500_000
_LEASE_S: Final = 60.0

_RUN = """
INSERT INTO run (kind, identity, profile, settings, settings_hash, request, version)
VALUES ('participant', 'grown', 'demo', '{}', 's', '{}', '0') RETURNING id
"""

# $1 the run, $2 the first ordinal, $3 how many jobs, $4 the stages.
_JOBS = """
WITH made AS (
    INSERT INTO job (run_id, ordinal, kind, mode, subject, inputs, status, finished_at)
    SELECT $1, n, 'participant', 'few_shot', '316', '{}', 'succeeded', now()
    FROM generate_series($2::integer, $2::integer + $3::integer - 1) AS n RETURNING id
), staged AS (
    INSERT INTO stage_run (job_id, stage, position, status, fence, attempts, interruptions, retries, enq_n, worker_id,
                           enq_at, started_at, finished_at)
    SELECT made.id, s.stage, s.position - 1, 'done', 1, 1, 0, 0, 0, 'grown', now(), now(), now()
    FROM made, unnest($4::text[]) WITH ORDINALITY AS s (stage, position)
)
INSERT INTO stage_attempt (job_id, stage, number, fence, worker_id, started_at, ended_at, outcome, inputs, output,
                           output_hash, previous_hash, hash)
SELECT made.id, s.stage, 1, 1, 'grown', now(), now(), 'succeeded', '{}', '{"text": "some words that a stage stored"}',
       repeat('a', 64), repeat('b', 64), repeat('c', 64)
FROM made, unnest($4::text[]) WITH ORDINALITY AS s (stage, position)
"""


# Reports the plan of each statement of the session, of triggers too, with the pages that it touched.
_EXPLAIN = """
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on; SET auto_explain.log_buffers = on;
SET auto_explain.log_timing = off; SET auto_explain.log_nested_statements = on; SET auto_explain.log_level = notice
"""
_SIZE = "SELECT pg_database_size(current_database()) / 1000000"
_QUIET = "SET auto_explain.log_min_duration = -1"


class Timed(NamedTuple):
    """The medians of one statement over a database of some size."""

    rows: int
    statement: str
    ms: float
    pages: float


class _Pages:
    """Pages that statements touched, from the plans that the session reports."""

    def __init__(self) -> None:
        self.count = 0

    def hear(self, _connection: object, message: asyncpg.PostgresLogMessage) -> None:
        # The first line with buffers is the whole statement's.
        if found := re.search(r"Buffers: shared ([^\n]*)", message.message):
            self.count += sum(map(int, re.findall(r"(?:hit|read)=(\d+)", found[1])))


@click.command()
@click.option("--rows", "sizes", default="100000,1000000", show_default=True, help="Finished stage rows, rising.")
@click.option("--turns", default=200, show_default=True, help="Executions of each statement; the median counts.")
@click.option("--json", "json_path", type=click.Path(path_type=Path, dir_okay=False), help="Write the results here.")
def growth(sizes: str, turns: int, json_path: Path | None) -> None:
    """Measure the statements of a stage over databases of different sizes, each filled further than the one before."""
    with tempfile.TemporaryDirectory(prefix="ragq-benchmark-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        with PostgresServer(folder / "postgres") as server:
            migrate.upgrade(server.url)
            timed = asyncio.run(_measured(server.url, [int(size) for size in sizes.split(",")], turns))
    machine = this_machine(PACKAGES)
    counts = list(dict.fromkeys(one.rows for one in timed))
    table = Table("statement", *(f"{rows:,} rows: {unit}" for unit in ("pages", "ms") for rows in counts), box=None)
    for statement in dict.fromkeys(one.statement for one in timed):
        of = [one for one in timed if one.statement == statement]
        table.add_row(statement, *(f"{one.pages:g}" for one in of), *(f"{one.ms:.2f}" for one in of))
    console = Console()
    console.print(table)
    console.print(machine.sentence())
    if json_path is not None:
        found = {"machine": machine._asdict(), "statements": [one._asdict() for one in timed]}
        json_path.write_text(json.dumps(found, indent=2))


async def _measured(url: str, sizes: list[int], turns: int) -> list[Timed]:
    database = Database(url, pool_size=1)
    filled = 0
    timed = []
    try:
        for rows in sizes:
            await _fill(url, filled, rows)
            filled = rows
            async with database.connection() as connection:
                click.echo(f"{rows:,} stage rows: {await connection.fetchval(_SIZE):,} MB")
                timed += [Timed(rows, *found) for found in await _statements(connection, turns)]
    finally:
        await database.close()
    return timed


async def _fill(url: str, filled: int, rows: int) -> None:
    connection = await asyncpg.connect(url)
    run_id = await connection.fetchval(_RUN)
    jobs = (rows - filled) // len(_STAGES)
    for first in range(0, jobs, _AT_ONCE // len(_STAGES)):
        await connection.execute(
            _JOBS, run_id, first, min(_AT_ONCE // len(_STAGES), jobs - first), list(_STAGES), timeout=3600
        )
    await connection.execute("VACUUM ANALYZE", timeout=3600)
    await connection.close()


async def _statements(connection: Connection, turns: int) -> list[tuple[str, float, float]]:
    """Name, milliseconds and pages of each statement, medians of its executions."""
    jobs = [NewJob(mode="few_shot", subject="316", inputs={}, stages=_STAGES) for _ in range(turns)]
    stored = await runs.store(
        connection,
        NewRun(kind="participant", profile="demo", settings={}, settings_hash="s", request={}, version="0", jobs=jobs),
        always_new=True,
    )
    held: list[Claim] = []
    times: dict[str, list[float]] = {}
    pages: dict[str, list[int]] = {}
    counted = _Pages()
    connection.add_log_listener(counted.hear)

    async def timed(name: str, work: Callable[[], Awaitable[object]]) -> None:
        # Half of the executions are timed, half are counted, which takes time.
        is_counted = len(pages.setdefault(name, [])) < len(times.setdefault(name, []))
        if is_counted:
            await connection.execute(_EXPLAIN)
        counted.count, began = 0, time.perf_counter()
        await work()
        took_ms = 1000 * (time.perf_counter() - began)
        if is_counted:
            await connection.execute(_QUIET)
            pages[name].append(counted.count)
        else:
            times[name].append(took_ms)

    for job_id in stored.job_ids:

        async def claim(job_id: int = job_id) -> None:
            claimed = await stages.claim(connection, job_id, _STAGES[0], "w", _LEASE_S)
            assert claimed is not None
            held.append(claimed)

        await timed("claim", claim)
    for _ in range(min(turns, 50)):
        await timed("renew", lambda: stages.renew(connection, "w", held[:20], _LEASE_S))
        await timed(
            "renew by watchdog",
            lambda: hung_workers.hold(connection, "w", lease_s=_LEASE_S, hung_for_s=3, place=None),
        )
        await timed("expire none", lambda: stages.expire(connection, max_interruptions=3))
        await timed("dispatcher: flows", lambda: backlog.flows(connection))
        await timed("dispatcher: sent and not claimed", lambda: backlog.unclaimed(connection))
        await timed("dispatcher: set aside", lambda: backlog.set_aside(connection))
        await timed("sweep: indexes to publish", lambda: index_runs.publish_again(connection))
        await timed("sweep: clock", lambda: clock.bring_forward(connection, lease_s=_LEASE_S, longest_retry_s=60))
    for _ in range(4):
        await timed("gauges of /metrics", lambda: queue_figures.queue_figures(connection))
    for one in held:
        await timed("commit", lambda one=one: stages.commit(connection, one, inputs={}, output={"a": 1}))  # type: ignore[misc]
    for job_id in await _lost(connection, stored.job_ids[: turns // 4]):
        await timed("expire one", lambda job_id=job_id: stages.expire(connection, max_interruptions=9, job_id=job_id))  # type: ignore[misc]
    connection.remove_log_listener(counted.hear)
    await connection.execute("DELETE FROM job WHERE run_id = $1", stored.run_id)
    return [(name, median(found), median(pages[name])) for name, found in times.items()]


async def _lost(connection: Connection, job_ids: Sequence[int]) -> Sequence[int]:
    """Let the worker of these jobs die in their second stage."""
    for job_id in job_ids:
        assert await stages.claim(connection, job_id, _STAGES[1], "lost", 0)
    return job_ids
