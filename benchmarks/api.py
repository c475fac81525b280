"""The API under load of readers, subscribers and writers, with a check that every request was stored exactly once."""

import asyncio
import json
import time
from functools import partial
from pathlib import Path
from random import Random
from statistics import median, quantiles
from typing import Any, Final, NamedTuple

import click
import psutil
import uvloop
from rich.console import Console
from rich.table import Table

from benchmarks import cpu
from benchmarks.api_users import HEALTH, Act, Met, probe_health, probe_statement, read, together, watch, write
from benchmarks.machine import this_machine
from benchmarks.stack import Stack, stack
from stack.connections import connections
from stack.ports import LOOPBACK
from store.database import Database
from store.questions.queries import QUERY
from store.runs import audit

PACKAGES: Final = ("ragq", "fastapi", "uvicorn", "sse-starlette", "asyncpg", "httpx")
RUNS: Final = 10

_WATCHERS: Final = 5
"""One in this many readers follows events."""
_WORDS: Final = ("tea", "leaf", "oxidation", "bridge", "arch", "cable", "clock", "pendulum", "spring", "escapement")
_STORED: Final = """
SELECT (SELECT array_agg(id ORDER BY id) FROM queries) AS questions, (SELECT array_agg(id ORDER BY id) FROM run) AS runs
"""


class Load(NamedTuple):
    """The users, and the duration."""

    seconds: float
    readers: int
    """The readers who follow events."""
    writers: int
    pause_s: float
    """Mean pause of a user between two requests."""


class Loaded(NamedTuple):
    """The result of a load."""

    met: Met
    wall_s: float
    api_cpu_s: float
    client_cpu_s: float
    rss_before_mb: float
    rss_peak_mb: float
    stored: int
    """Questions that the load added."""
    attempts: int
    flaws: int


@click.command(short_help="The API under readers, subscribers and writers at once")
@click.option("--seconds", default=60.0, show_default=True, help="Duration of the load.")
@click.option("--readers", default=200, show_default=True, help="One of five follows the events of runs.")
@click.option(
    "--writers", default=20, show_default=True, help="Users who create questions, change them, run their steps."
)
@click.option("--pause", "pause_s", default=2.0, show_default=True, help="Mean seconds between two requests of a user.")
@click.option("--questions", default=300, show_default=True, help="Existing questions, in ten runs.")
@click.option("--seed", default=7, show_default=True, help="Seed of the actions of users.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write all results to this file."
)
def api(
    seconds: float, readers: int, writers: int, pause_s: float, questions: int, seed: int, json_file: Path | None
) -> None:
    """Let users come to the API of a stack of its own, all at once, and look afterwards for what they asked.

    The users are tasks of this process, on the same cores as everything else. Fails when a question was lost or made
    twice, and when an audit finds a flaw.

    Example:

    \b
        python -m benchmarks api --seconds 20
    """
    machine, console = this_machine(PACKAGES), Console(width=118)
    load = Load(seconds, readers, writers, pause_s)
    with stack() as running:
        _fill(running, questions)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            loaded = runner.run(_measure(running, load, seed))
    console.print(machine.sentence(), highlight=False)
    _show(console, loaded)
    if json_file is not None:
        json_file.write_text(json.dumps(_content(machine._asdict(), load, loaded), indent=2) + "\n")
    if found := wrong(loaded):
        raise click.ClickException(found)


def wrong(loaded: Loaded) -> str:
    """The violated invariants, in one sentence; empty without any."""
    asked = len(loaded.met.keys)
    if loaded.stored != asked:
        return f"{asked} keys were sent and {loaded.stored} questions are stored."
    return f"The audit found {loaded.flaws} flaws." if loaded.flaws else ""


def _fill(running: Stack, questions: int) -> None:
    """A small corpus and questions that were searched for in it."""
    works = running.folder / "works"
    running.ragq("demo-data", "--works", str(works))
    running.ragq("import", "works", str(works), "--corpus", "default", "--wait")
    random = Random(1)
    for number in range(RUNS):
        lines = [
            json.dumps({"_id": f"q{place}", "text": f"Why has a {' '.join(random.sample(_WORDS, 3))} its form?"})
            for place in range(number, questions, RUNS)
        ]
        asked = running.folder / f"questions-{number}.jsonl"
        asked.write_text("\n".join(lines) + "\n")
        options = ("--corpus", "default", "--no-expand", "--until", "consolidate")
        running.ran("--queries", str(asked), *options)


async def _measure(running: Stack, load: Load, seed: int) -> Loaded:
    (part,) = (part for part in running.asked("ps") if part["name"] == "api")
    process = psutil.Process(part["pid"])
    database = Database(connections(running.environment).database_url, pool_size=1)
    async with database.connection() as connection:
        before = await connection.fetchrow(_STORED)
        met = Met(questions=list(before["questions"]), runs=list(before["runs"])[-RUNS:])
        rss_before_mb, api_cpu_s, client_cpu_s = _rss_mb(process), cpu.seconds(process.pid), time.process_time()
        began = time.monotonic()
        until = began + load.seconds
        probes = [partial(probe_health, until=until), partial(probe_statement, connection, QUERY, until=until)]
        looking = asyncio.create_task(_peak_mb(process, until))
        await together(f"http://{LOOPBACK}:{part['port']}", met, [*_users(load, until), *probes], seed=seed)
        wall_s = time.monotonic() - began
        api_cpu_s, client_cpu_s = cpu.seconds(process.pid) - api_cpu_s, time.process_time() - client_cpu_s
        after = await connection.fetchrow(_STORED)
        audits = [await audit.audit(connection, run) for run in after["runs"]]
    await database.close()
    return Loaded(
        met=met,
        wall_s=wall_s,
        api_cpu_s=api_cpu_s,
        client_cpu_s=client_cpu_s,
        rss_before_mb=rss_before_mb,
        rss_peak_mb=await looking,
        stored=len(after["questions"]) - len(before["questions"]),
        attempts=sum(audit.attempts for audit in audits),
        flaws=sum(len(audit.flaws) for audit in audits),
    )


def _users(load: Load, until: float) -> list[Act]:
    watchers = load.readers // _WATCHERS
    kinds = ((read, load.readers - watchers), (watch, watchers), (write, load.writers))
    return [partial(act, until=until, pause_s=load.pause_s) for act, users in kinds for _ in range(users)]


async def _peak_mb(process: psutil.Process, until: float) -> float:
    peak_mb = 0.0
    while time.monotonic() < until:
        peak_mb = max(peak_mb, _rss_mb(process))
        await asyncio.sleep(1)
    return peak_mb


def _rss_mb(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / 1e6


def _show(console: Console, loaded: Loaded) -> None:
    met = loaded.met
    requests, failures = sum(map(len, met.times_ms.values())), met.failures.total()
    console.print(
        f"{requests} requests in {loaded.wall_s:.0f} s, {requests / loaded.wall_s:.0f} a second, {failures} failures; "
        f"{met.events} events\n"
        f"API: {loaded.api_cpu_s:.0f} s of processor time, {loaded.rss_before_mb:.0f} MB before and "
        f"{loaded.rss_peak_mb:.0f} MB at most; the users themselves took {loaded.client_cpu_s:.0f} s\n"
        f"{len(met.keys)} keys, {met.sent_twice} of them sent twice, made {loaded.stored} questions; "
        f"audit: {loaded.attempts} attempts, {loaded.flaws} flaws",
        highlight=False,
    )
    for what, times in met.failures.most_common():
        console.print(f"{times} x {what}", highlight=False)
    health_ms = spread(met.times_ms[HEALTH])[1]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for heading in ("times", "p50 ms", "p95 ms", "p99 ms", f"p95 / {HEALTH}"):
        table.add_column(heading, justify="right")
    for name, taken in sorted(met.times_ms.items()):
        p50, p95, p99 = spread(taken)
        table.add_row(name, str(len(taken)), f"{p50:.0f}", f"{p95:.0f}", f"{p99:.0f}", f"{p95 / health_ms:.1f}")
    console.print(table)


def spread(taken: list[float]) -> tuple[float, float, float]:
    """p50, p95 and p99; of a single value that value."""
    if len(taken) == 1:
        return (taken[0],) * 3
    cuts = quantiles(taken, n=100, method="inclusive")
    return median(taken), cuts[94], cuts[98]


def _content(machine: dict[str, Any], load: Load, loaded: Loaded) -> dict[str, Any]:
    met = loaded.met
    measured = loaded._asdict() | {"met": {"failures": met.failures, "keys": len(met.keys), "events": met.events}}
    times = {name: [len(taken), *spread(taken)] for name, taken in met.times_ms.items()}
    return {"machine": machine, "load": load._asdict(), **measured, "times, p50, p95, p99 in ms": times}
