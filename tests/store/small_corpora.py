"""Corpora as rows, works as an import stores them, and vectors as a stage `embed` leaves them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from schemas.chains import stages_of
from schemas.values.documents import Bibliography, CorpusChunk, StoredCorpus
from stages.corpora.blocks import read_markdown
from stages.corpora.cut import cut_work
from store.corpora import corpora, works
from store.corpora.postings import make_searchable
from store.database import Connection
from store.runs import runs, stages
from tests.store.conftest import new_run
from tests.store.scored import claimed

_CORPUS = """
INSERT INTO corpus (name, backend, model, dimension, embeds_headings, searchable_chunks)
VALUES ($1, 'huggingface', 'tiny', $2, true, 0) RETURNING id
"""
_WORK = """
INSERT INTO works (corpus_id, title, source_path, markdown, content_hash)
VALUES ($1, 'A work', 'A work.md', $2, $3) RETURNING id
"""
_CHUNK = """
INSERT INTO chunks (id, work_id, level, content, heading_breadcrumbs, start_line, end_line, vector_status)
VALUES ($1, $2, 'H1-chunk', $3, $4, 1, 1, 'to_vec')
"""


@dataclass(frozen=True)
class SearchableChunk:
    id: int
    content: str
    vector: NDArray[np.float32]
    heading_breadcrumbs: str | None = None


async def store_waiting(connection: Connection, chunks: Sequence[SearchableChunk], *, name: str = "small") -> int:
    """A corpus of one work whose chunks wait for their vectors. Its id."""
    dimension = len(chunks[0].vector) if chunks else 2
    corpus_id: int = await connection.fetchval(_CORPUS, name, dimension)
    work_id: int = await connection.fetchval(_WORK, corpus_id, "# A work", f"hash of {name}")
    await connection.executemany(_CHUNK, [(c.id, work_id, c.content, c.heading_breadcrumbs) for c in chunks])
    return corpus_id


async def store_corpus(connection: Connection, chunks: Sequence[SearchableChunk], *, name: str = "small") -> int:
    """A corpus of one work whose chunks can be found. Its id."""
    corpus_id = await store_waiting(connection, chunks, name=name)
    if chunks:
        vectors = [chunk.vector for chunk in chunks]
        await embed_and_publish(connection, corpus_id, [chunk.id for chunk in chunks], vectors)
        # The vectors are copied by then: tests find no run but their own.
        await connection.execute("DELETE FROM run WHERE id = (SELECT max(id) FROM run)")
    return corpus_id


async def embedded(connection: Connection, vectors: ArrayLike) -> int:
    """The attempt that stored these vectors."""
    run = new_run([1], kind="index", mode="corpus", inputs={}, stages=stages_of("index", "corpus"), request={})
    (job_id,) = (await runs.store(connection, run, always_new=True)).job_ids
    claim = await claimed(connection, job_id, "embed")
    await stages.commit(connection, claim, inputs={}, output={}, vectors=np.asarray(vectors, dtype=np.float32))
    return claim.attempt_id


async def embed_and_publish(
    connection: Connection, corpus_id: int, chunk_ids: Sequence[int], vectors: ArrayLike
) -> int:
    """Make chunks searchable by these vectors, as the stages of a corpus do. Returns the number of new ones."""
    return await make_searchable(connection, corpus_id, chunk_ids, await embedded(connection, vectors))


async def embed_waiting(connection: Connection, corpus_id: int) -> None:
    """Make every chunk searchable that waits for a vector of two dimensions."""
    waiting = await corpora.waiting(connection, corpus_id)
    await embed_and_publish(connection, corpus_id, waiting, np.ones((len(waiting), 2)))


TEA = "# Tea\n\nAbout tea.\n\n## Leaves\n\nGreen leaves.\n\n| |\n|---|\n| |\n"


def new_work(
    markdown: str = TEA, *, title: str = "Tea", authors: str | None = None, source_path: str = "/works/tea.md"
) -> dict[str, Any]:
    """What `keep` takes."""
    return {
        "described": Bibliography(title=title, authors=authors),
        "source_path": source_path,
        "markdown": markdown,
        "chunks": cut_work(read_markdown(markdown), title=title),
    }


async def small_corpus(connection: Connection, name: str = "small", **others: Any) -> StoredCorpus:
    """A corpus of two dimensions."""
    made: dict[str, Any] = {"backend": "huggingface", "model": "tiny", "dimension": 2, "embeds_headings": True}
    return await corpora.make(connection, name, **made | others)


async def chunks_of_work(connection: Connection, work_id: int) -> list[CorpusChunk]:
    """The chunks of a work, each section before what is in it."""
    rows = await connection.fetch("SELECT id FROM chunks WHERE work_id = $1 ORDER BY id", work_id)
    found = await works.by_ids(connection, [row["id"] for row in rows])
    return [found[row["id"]] for row in rows]


#: One row per chunk and term, of all corpora.
POSTINGS = """
SELECT s.corpus_id, c.chunk_id, t.term, p.frequency, c.length
FROM posting_segment AS s JOIN posting AS b ON b.segment_id = s.id
CROSS JOIN LATERAL unnest(b.terms, b.ends) WITH ORDINALITY AS t (term, stop, place)
CROSS JOIN LATERAL generate_series(coalesce(b.ends[t.place - 1], 0), t.stop - 1) AS n
CROSS JOIN LATERAL (
    SELECT 256 * get_byte(b.places, 2 * n) + get_byte(b.places, 2 * n + 1) AS place,
           get_byte(b.frequencies, n) + 1 AS frequency
) AS p
CROSS JOIN LATERAL (
    SELECT ('x' || encode(substring(s.chunk_ids FROM 8 * p.place + 1 FOR 8), 'hex'))::bit(64)::bigint AS chunk_id,
           ('x' || encode(substring(s.lengths FROM 4 * p.place + 1 FOR 4), 'hex'))::bit(32)::int AS length
) AS c
WHERE c.length >= 0
"""

#: The same, from the stored full text.
EXPECTED = """
SELECT v.corpus_id, c.id AS chunk_id, t.lexeme AS term, cardinality(t.positions) AS frequency,
       (sum(cardinality(t.positions)) OVER (PARTITION BY c.id))::int AS length
FROM chunk_vector AS v JOIN chunks AS c ON c.id = v.chunk_id, unnest(c.content_tsvector) AS t
"""


async def postings(connection: Connection) -> list[tuple[Any, ...]]:
    """Chunk, term, frequency and length of the chunk, in this order."""
    statement = f'SELECT chunk_id, term, frequency, length FROM ({POSTINGS}) AS p ORDER BY chunk_id, term COLLATE "C"'
    return [tuple(row) for row in await connection.fetch(statement)]


async def expected(connection: Connection) -> list[tuple[Any, ...]]:
    """What `postings` has to be."""
    statement = f'SELECT chunk_id, term, frequency, length FROM ({EXPECTED}) AS p ORDER BY chunk_id, term COLLATE "C"'
    return [tuple(row) for row in await connection.fetch(statement)]
