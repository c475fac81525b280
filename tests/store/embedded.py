"""Vectors as a stage `embed` leaves them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from schemas.chains import stages_of
from store.corpora import corpora
from store.corpora.postings import make_searchable
from store.database import Connection
from store.runs import runs, stages
from tests.store.conftest import new_run
from tests.store.scored import claimed


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
