"""The cost of a stage: the same chain of no-op stages through bare Celery, through ragq and through DBOS."""

import json
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from benchmarks import cpu, stamps
from benchmarks.contestants import CONTESTANTS, Contestant
from benchmarks.dbos_environment import DBOS_VERSION
from benchmarks.machine import Machine, this_machine
from benchmarks.noop_chain import NOOP_STAGES
from benchmarks.servers import Servers, servers

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
    """Per stage, of the process that runs the stages."""
    postgres_cpu_ms: float
    valkey_cpu_ms: float
    sender_cpu_ms: float
    """Per job, of the process that sends; DBOS sends from the process that works."""


@click.command(short_help="The cost of a stage against bare Celery and DBOS")
@click.option("--jobs", default=300, show_default=True, help="Jobs that are sent at once.")
@click.option("--idle-jobs", default=30, show_default=True, help="Jobs that are sent one after the other.")
@click.option("--turns", default=3, show_default=True, help="Turns of each contestant, one after the other.")
@click.option("--only", type=click.Choice(list(CONTESTANTS)), multiple=True, help="Measure only these.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write all results to this file."
)
def hop(jobs: int, idle_jobs: int, turns: int, only: tuple[str, ...], json_file: Path | None) -> None:
    """Send a chain of seven no-op stages through bare Celery, through ragq and through DBOS, turn by turn.

    Example:

    \b
        python -m benchmarks hop --json hop.json
    """
    machine = this_machine(PACKAGES)
    taken: dict[str, list[HopMeasurement]] = defaultdict(list)
    with servers() as running:
        for _ in range(turns):
            for name in only or CONTESTANTS:
                with CONTESTANTS[name](running) as contestant:
                    taken[name].append(_measure(contestant, running, jobs, idle_jobs))
    _show(machine, taken, jobs, turns)
    if json_file is not None:
        json_file.write_text(json.dumps(_content(machine, taken), indent=2) + "\n")


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
    found = {}
    if "ragq" in measured and "celery" in measured:
        found["hop p50 / Celery's"] = measured["ragq"].hop_p50_ms / measured["celery"].hop_p50_ms
        found["stages/s / Celery's"] = measured["ragq"].stages_per_s / measured["celery"].stages_per_s
    if "ragq" in measured and "dbos" in measured:
        found["stages/s / DBOS's"] = measured["ragq"].stages_per_s / measured["dbos"].stages_per_s
    return found


def _measure(contestant: Contestant, running: Servers, jobs: int, idle_jobs: int) -> HopMeasurement:
    contestant.run(WARM_UP_JOBS)
    before = stamps.count(contestant.stamps)
    for _ in range(idle_jobs):
        contestant.run(1)
    hops = stamps.hops_ms(contestant.stamps, after=before)

    pids = (contestant.pid, running.postgres.pid, running.valkey.pid)
    cpu_before = [cpu.seconds(pid) for pid in pids]
    sender_before, began = time.process_time(), time.perf_counter()
    contestant.run(jobs)
    wall_s, sender_s = time.perf_counter() - began, time.process_time() - sender_before
    stages = jobs * len(NOOP_STAGES)
    worker_ms, postgres_ms, valkey_ms = (
        (cpu.seconds(pid) - earlier) * 1000 / stages for pid, earlier in zip(pids, cpu_before, strict=True)
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


def _show(machine: Machine, taken: dict[str, list[HopMeasurement]], jobs: int, turns: int) -> None:
    console = Console(width=118)
    console.print(f"{machine.sentence()}, dbos {DBOS_VERSION}", highlight=False)
    middle, least = ratios(_each(medians, taken)), ratios(_each(best, taken))
    for what, ratio in middle.items():
        console.print(f"ragq: {ratio:.2f} x {what} (best turns: {least[what]:.2f} x)", highlight=False)
    table = Table(
        title=f"{len(NOOP_STAGES)} no-op stages, {jobs} jobs at once: median and (best) of {turns} turns",
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
