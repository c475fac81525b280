"""The audit of a run: its time, against recomputing each attempt with a statement of its own."""

import asyncio
import json
import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import numpy as np
from rich.console import Console

from benchmarks.machine import this_machine
from benchmarks.servers import servers
from schemas.settings.resolve import resolve
from schemas.settings.run import settings_hash
from store.database import Connection, Database
from store.runs import audit, runs, stage_vectors, stages
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun

STAGES: Final = ("extract", "embed", "retrieve", "rerank", "assemble")
PACKAGES: Final = ("ragq", "asyncpg", "rfc8785")

_ROWS = "SELECT a.id, a.output FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1 LIMIT $2"


class Measured(NamedTuple):
    """One size."""

    attempts: int
    audit_s: float
    cpu_s: float
    """Processor time of the process that audits; that of Postgres is not in it."""
    single_s: float
    """The same number of attempts, one statement and one general encoder each, scaled from a part of them."""
    flaws: int


@click.command(name="audit", short_help="The audit of a run of 10,000 attempts")
@click.option("--jobs", default=2000, show_default=True, help="Jobs of five stages, one with eight vectors.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write every number there.")
def audit_benchmark(jobs: int, json_file: Path | None) -> None:
    """Store jobs with outputs of about 3 KB, and audit them.

    \b
    Example:
        python -m benchmarks audit --jobs 2000
    """
    machine = this_machine(PACKAGES)
    with servers() as started:
        measured = asyncio.run(_measure(started.postgres.url, jobs))
    console = Console(width=110)
    console.print(machine.sentence(), highlight=False)
    console.print(
        f"{measured.attempts} attempts: audited in {measured.audit_s:.1f} s ({measured.cpu_s:.1f} s processor time), "
        f"one by one {measured.single_s:.1f} s, {measured.single_s / measured.audit_s:.1f} x; {measured.flaws} flaws",
        highlight=False,
    )
    if json_file is not None:
        json_file.write_text(json.dumps({"machine": machine._asdict(), **measured._asdict()}, indent=2) + "\n")


async def _measure(url: str, jobs: int) -> Measured:
    database = Database(url, pool_size=1)
    async with database.connection() as connection:
        stored = await runs.store(connection, _run(jobs))
        chosen = random.Random(1)
        for job_id in stored.job_ids:
            for stage in STAGES:
                claim = await stages.claim(connection, job_id, stage, "worker", 600)
                assert claim is not None
                vectors = np.random.default_rng(job_id).random((8, 384), dtype=np.float32) if stage == "embed" else None
                inputs = {"previous": chosen.randbytes(32).hex()}
                await stages.commit(connection, claim, inputs=inputs, output=_output(chosen), vectors=vectors)
        began, cpu = time.monotonic(), time.process_time()
        found = await audit.audit(connection, stored.run_id)
        audit_s, cpu_s = time.monotonic() - began, time.process_time() - cpu
        single_s = await _one_by_one(connection, stored.run_id, found.attempts)
    await database.close()
    return Measured(found.attempts, audit_s, cpu_s, single_s, len(found.flaws))


async def _one_by_one(connection: Connection, run_id: int, total: int) -> float:
    began = time.monotonic()
    rows = await connection.fetch(_ROWS, run_id, total // 10)
    for row in rows:
        content_hash(row["output"], await stage_vectors.of_attempt(connection, row["id"]))
    return (time.monotonic() - began) * total / len(rows)


def _run(jobs: int) -> NewRun:
    settings = resolve(profile="paper", environment={}).run
    return NewRun(
        kind="participant",
        profile="paper",
        settings={name: {"value": value, "source": "default"} for name, value in settings.values().items()},
        settings_hash=settings_hash(settings),
        request={},
        jobs=[NewJob(mode="few_shot", subject=str(number), inputs={}, stages=STAGES) for number in range(jobs)],
    )


def _output(chosen: random.Random) -> Mapping[str, Any]:
    """As the ranked references of a participant: items, each with references of numbers and a hash."""
    return {
        "ranker": "similarity",
        "items": {
            f"item {item}": [
                {"chunk_id": number, "similarity": chosen.random(), "score": 2, "chunk_hash": chosen.randbytes(6).hex()}
                for number in range(5)
            ]
            for item in range(8)
        },
    }
