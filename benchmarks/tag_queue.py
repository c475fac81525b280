"""Tags through the queue: sets of phrases from the submission to the last result, by the workers of `ragq up`."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import NamedTuple

import click
from rich.console import Console

from adapters.packaged import PACKAGED_EMBEDDER
from adapters.sentence_transformer_encoder import SentenceTransformerEncoder
from adapters.similarity_file import similarity_file
from adapters.tag_models import TagModelBuilder
from benchmarks.contestants import PROJECT
from benchmarks.machine import this_machine
from benchmarks.servers import Servers, servers
from schemas.settings.resolve import resolve
from schemas.statuses import JobStatus
from schemas.values.tags import PhraseSet, Vocabulary
from services.submit import submit
from services.tags import TagsRequest
from stack.endings import end
from stack.processes import WORKER_CONCURRENCY, WORKER_STAGES, worker_command
from stages.files.problems import accept
from stages.tags.models import SentenceModel
from stages.tags.spelling import plain
from stages.tags.vocabulary_files import FILES, parse_vocabulary
from store.database import Database
from store.runs import overviews
from store.vocabularies import built_models, vocabularies

PHRASES = 5
"""Phrases of a set, which heads are added to. Half of the words are tokens of the vocabulary, half are unknown."""

PACKAGES = ("ragq", "celery", "asyncpg", "gensim", "numpy")

STAGES = """
SELECT a.stage, percentile_cont(0.5) WITHIN GROUP (ORDER BY t.ms) AS p50,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY t.ms) AS p95
FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
CROSS JOIN LATERAL (SELECT extract(epoch FROM a.ended_at - a.started_at)::float8 * 1000 AS ms) AS t
WHERE j.run_id = $1 GROUP BY a.stage
"""

_POLL_S = 0.1


class Throughput(NamedTuple):
    """The measurements."""

    sets: int
    seconds: float
    """From the submission to the end of the last job."""
    sets_per_s: float
    stages_ms: dict[str, tuple[float, float]]
    """Stage -> p50 and p95 from claim to commit, beside all others."""


@click.command("tags-queue", short_help="Throughput of sets of phrases through the queue")
@click.option("--sets", default=1000, show_default=True, help="Phrase sets of one run.")
@click.option("--seed", default=7, show_default=True, help="Seed of the models and of the phrases.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write all results to this file."
)
def tags_queue(sets: int, seed: int, json_file: Path | None) -> None:
    """Submit sets of phrases to the topics of GitHub, and wait until all of them have their candidates.

    The vocabulary is the folder tags_github_topics of RAGQ_DATA_DIR.

    Example:

    \b
        python -m benchmarks tags-queue --json tags-queue.json
    """
    folder = Path(os.environ.get("RAGQ_DATA_DIR", "../shared/data")) / "tags_github_topics"
    if not folder.is_dir():
        raise click.ClickException(f"{folder} is not there; RAGQ_DATA_DIR names the folder of the public data.")
    vocabulary = accept(
        parse_vocabulary({name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()})
    )
    machine = this_machine(PACKAGES)
    with servers() as running:
        found = asyncio.run(_measure(running, vocabulary, sets=sets, seed=seed))
    console = Console(width=118)
    console.print(machine.sentence(), highlight=False)
    console.print(f"{found.sets} sets of {PHRASES} phrases in {found.seconds:.1f} s: {found.sets_per_s:.1f} a second")
    for stage, (p50, p95) in found.stages_ms.items():
        console.print(f"  {stage}: p50 {p50:.0f} ms, p95 {p95:.0f} ms", highlight=False)
    if json_file is not None:
        json_file.write_text(json.dumps({"machine": machine._asdict(), **found._asdict()}, indent=2) + "\n")


async def _measure(running: Servers, vocabulary: Vocabulary, *, sets: int, seed: int) -> Throughput:
    built = await asyncio.to_thread(TagModelBuilder(epochs=1).build, vocabulary, seed=seed)
    encoder = SentenceTransformerEncoder(PACKAGED_EMBEDDER)
    tokens = sorted(built.vectors)
    built = replace(
        built,
        similarity_file=similarity_file(tokens, encoder.encode([plain(token) for token in tokens])),
        sentences=SentenceModel("huggingface", PACKAGED_EMBEDDER, encoder.digest),
    )
    words = sorted({*built.vectors, *(f"{token}s" for token in built.vectors)})
    random = Random(seed)
    asked = [PhraseSet(id=str(number), phrases=tuple(random.sample(words, PHRASES))) for number in range(sets)]
    database = Database(running.postgres.url, pool_size=1)
    async with database.connection() as connection:
        vocabulary_id = await vocabularies.keep(connection, "topics", vocabulary)
        await built_models.keep(connection, vocabulary_id, built)
        await connection.execute("ANALYZE")
    with _workers(running):
        # Models load with the first request.
        await _run(database, running, asked[:1])
        began = time.perf_counter()
        run_id = await _run(database, running, asked)
        seconds = time.perf_counter() - began
    async with database.connection() as connection:
        stages = {row["stage"]: (row["p50"], row["p95"]) for row in await connection.fetch(STAGES, run_id)}
    await database.close()
    return Throughput(sets, seconds, sets / seconds, stages)


async def _run(database: Database, running: Servers, asked: list[PhraseSet]) -> int:
    request = TagsRequest(phrase_sets=asked, vocabulary="topics")
    settings = resolve(profile="demo", environment={"PSQ_MIN_TAG_COUNT": "0"})
    submitted = await submit(database, request, settings, always_new=True)
    async with database.connection() as connection:
        (found,) = await overviews.overviews(connection, run_id=submitted.run_id)
        while found.open_jobs:
            await asyncio.sleep(_POLL_S)
            (found,) = await overviews.overviews(connection, run_id=submitted.run_id)
    if found.states != {JobStatus.SUCCEEDED: len(asked)}:
        sys.exit(f"Not all jobs succeeded: {found.states}")
    return submitted.run_id


@contextmanager
def _workers(running: Servers) -> Iterator[None]:
    """The workers of `ragq up`, running until the block ends."""
    servers_of = {"DATABASE_URL": running.postgres.url, "REDIS_URL": running.valkey.url}
    started = []
    for name, stages in WORKER_STAGES.items():
        with (running.folder / f"{name}.log").open("a") as log:
            command = worker_command(name, stages, WORKER_CONCURRENCY[name])
            environment = {**os.environ, **servers_of}
            started.append(subprocess.Popen(command, cwd=PROJECT, env=environment, stdout=log, stderr=log))
    try:
        yield
    finally:
        for process in started:
            end(process.pid, signal.SIGTERM)
            process.wait()
