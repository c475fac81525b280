"""The cost of a stage: the same chain of no-op stages through bare Celery, through ragq and through DBOS."""

import json
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from benchmarks import cpu, stamps
from benchmarks.contestants import CONTESTANTS, Contestant, ragq
from benchmarks.dbos_environment import DBOS_VERSION
from benchmarks.machine import Machine, this_machine
from benchmarks.noop_chain import NOOP_STAGES
from benchmarks.servers import Servers, servers
from benchmarks.slow_disk import slow_flushes

PACKAGES: Final = ("ragq", "celery", "kombu", "redis", "asyncpg", "sqlalchemy")
WARM_UP_JOBS: Final = 20


class HopMeasurement(NamedTuple):
    """One contestant in one turn, or a summary of several."""

    hop_p50_ms: float
    """From the beginning of a stage to that of the next, one job at a time."""
    hop_p95_ms: float
    stages_per_s: float
    """With all jobs sent at once, from the first sending to the end of the last job."""
    worker_cpu_ms: float
    """Per stage, of the processes that run the stages."""
    postgres_cpu_ms: float
    valkey_cpu_ms: float
    sender_cpu_ms: float
    """Per job, of the process that sends; DBOS sends from the process that works."""


@click.command(short_help="The cost of a stage against bare Celery and DBOS")
@click.option("--jobs", default=300, show_default=True, help="Jobs that are sent at once.")
@click.option("--idle-jobs", default=30, show_default=True, help="Jobs that are sent one after the other.")
@click.option("--turns", default=3, show_default=True, help="Turns of each contestant, one after the other.")
@click.option(
    "--processes", type=click.IntRange(min=1), multiple=True, default=(1,), show_default=True, help="As many of each."
)
@click.option(
    "--fsync-ms",
    type=click.IntRange(min=1),
    help="Make each flush of Postgres to the disk take so much longer; needs a C compiler.",
)
@click.option("--only", type=click.Choice(list(CONTESTANTS)), multiple=True, help="Measure only these.")
@click.option(
    "--before",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True),
    help="Another checkout of ragq, whose worker takes turns too. May be repeated.",
)
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write all results to this file."
)
def hop(
    jobs: int,
    idle_jobs: int,
    turns: int,
    processes: tuple[int, ...],
    fsync_ms: int | None,
    only: tuple[str, ...],
    before: tuple[Path, ...],
    json_file: Path | None,
) -> None:
    """Send a chain of seven no-op stages through bare Celery, through ragq and through DBOS, turn by turn.

    Celery alone runs with kombu's record of unacknowledged messages, and once more without it, as ragq's workers do:
    nothing else protects its messages.

    Example:

    \b
        python -m benchmarks hop --json hop.json
        python -m benchmarks hop --processes 1 --processes 2 --processes 4
        python -m benchmarks hop --fsync-ms 5 --only ragq --only dbos
    """
    contestants = {name: CONTESTANTS[name] for name in only or CONTESTANTS}
    contestants |= {f"ragq in {checkout.name}": partial(ragq, checkout=checkout) for checkout in before}
    content = {}
    for count in processes:
        machine = this_machine(PACKAGES)
        taken: dict[str, list[HopMeasurement]] = defaultdict(list)
        with slow_flushes(fsync_ms), servers() as running:
            for _ in range(turns):
                for name, run in contestants.items():
                    with run(running, count) as contestant:
                        taken[name].append(_measure(contestant, running, jobs, idle_jobs))
        _show(machine, taken, jobs, turns, count)
        content[str(count)] = _content(machine, taken)
    if json_file is not None:
        json_file.write_text(json.dumps({"fsync_ms": fsync_ms, "processes": content}, indent=2) + "\n")


def medians(repeated: list[HopMeasurement]) -> HopMeasurement:
    """Field by field."""
    return HopMeasurement(*(median(column) for column in zip(*repeated, strict=True)))


def best(repeated: list[HopMeasurement]) -> HopMeasurement:
    """Field by field: the best turn, which other work disturbed least."""
    return HopMeasurement(
        *(
            max(column) if name == "stages_per_s" else min(column)
            for name, column in zip(HopMeasurement._fields, zip(*repeated, strict=True), strict=True)
        )
    )


def ratios(measured: dict[str, HopMeasurement]) -> dict[str, float]:
    """The ratios of ragq to the other contestants."""
    ragq = measured.get("ragq")
    found = {}
    for name, other in measured.items():
        if ragq is not None and name != "ragq":
            found[f"hop p50 / {name}"] = ragq.hop_p50_ms / other.hop_p50_ms
            found[f"stages/s / {name}"] = ragq.stages_per_s / other.stages_per_s
    return found


def _measure(contestant: Contestant, running: Servers, jobs: int, idle_jobs: int) -> HopMeasurement:
    contestant.run(WARM_UP_JOBS)
    before = stamps.count(contestant.stamps)
    for _ in range(idle_jobs):
        contestant.run(1)
    hops = stamps.hops_ms(contestant.stamps, after=before)

    servers_and_workers = (contestant.pids, [running.postgres.pid], [running.valkey.pid])
    cpu_before = [sum(map(cpu.seconds, pids)) for pids in servers_and_workers]
    sender_before, began = time.process_time(), time.perf_counter()
    contestant.run(jobs)
    wall_s, sender_s = time.perf_counter() - began, time.process_time() - sender_before
    stages = jobs * len(NOOP_STAGES)
    worker_ms, postgres_ms, valkey_ms = (
        (sum(map(cpu.seconds, pids)) - earlier) * 1000 / stages
        for pids, earlier in zip(servers_and_workers, cpu_before, strict=True)
    )
    return HopMeasurement(
        hop_p50_ms=median(hops),
        hop_p95_ms=quantiles(hops, n=20)[-1],
        stages_per_s=stages / wall_s,
        worker_cpu_ms=worker_ms,
        postgres_cpu_ms=postgres_ms,
        valkey_cpu_ms=valkey_ms,
        sender_cpu_ms=sender_s * 1000 / jobs,
    )


def _show(machine: Machine, taken: dict[str, list[HopMeasurement]], jobs: int, turns: int, processes: int) -> None:
    console = Console(width=118)
    console.print(f"{machine.sentence()}, dbos {DBOS_VERSION}", highlight=False)
    middle, least = ratios(_each(medians, taken)), ratios(_each(best, taken))
    for what, ratio in middle.items():
        console.print(f"ragq: {ratio:.2f} x {what} (best turns: {least[what]:.2f} x)", highlight=False)
    table = Table(
        title=f"{processes} process(es), {len(NOOP_STAGES)} no-op stages, {jobs} jobs at once: "
        f"median and (best) of {turns} turns",
        title_justify="left",
    )
    table.add_column("")
    headings = ("hop p50 ms", "hop p95 ms", "stages/s", "CPU ms/stage", "Postgres", "Valkey", "sender ms/job")
    for heading in headings:
        table.add_column(heading, justify="right")
    for name, repeated in taken.items():
        cells = zip(HopMeasurement._fields, medians(repeated), best(repeated), strict=True)
        table.add_row(
            name,
            *(
                f"{middle:.0f} ({least:.0f})" if field == "stages_per_s" else f"{middle:.2f} ({least:.2f})"
                for field, middle, least in cells
            ),
        )
    console.print(table)


def _each(
    summary: Callable[[list[HopMeasurement]], HopMeasurement], taken: dict[str, list[HopMeasurement]]
) -> dict[str, HopMeasurement]:
    return {name: summary(repeated) for name, repeated in taken.items()}


def _content(machine: Machine, taken: dict[str, list[HopMeasurement]]) -> dict[str, Any]:
    summaries = {"medians": _each(medians, taken), "best": _each(best, taken)}
    return {
        "machine": {**machine._asdict(), "versions": {**machine.versions, "dbos": DBOS_VERSION}},
        "ratios": {name: ratios(summary) for name, summary in summaries.items()},
        **{
            name: {contestant: measured._asdict() for contestant, measured in summary.items()}
            for name, summary in summaries.items()
        },
        "turns": {name: [measured._asdict() for measured in repeated] for name, repeated in taken.items()},
    }
