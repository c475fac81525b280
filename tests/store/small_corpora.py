"""Corpora as rows, made without importing and embedding anything."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from store.database import Connection
from tests.store.embedded import embed_and_publish

_CORPUS = """
INSERT INTO corpus (name, backend, model, dimension, embeds_headings, searchable_chunks, searchable_terms)
VALUES ($1, 'huggingface', 'tiny', $2, true, 0, 0) RETURNING id
"""
_WORK = "INSERT INTO works (corpus_id, title, markdown, content_hash) VALUES ($1, 'A work', $2, $3) RETURNING id"
_CHUNK = """
INSERT INTO chunks (id, work_id, level, content, heading_breadcrumbs, start_line, end_line, vector_status)
VALUES ($1, $2, 'H1-chunk', $3, $4, 1, 1, 'to_vec')
"""


@dataclass(frozen=True)
class SearchableChunk:
    """A searchable chunk: its vector and its text."""

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
