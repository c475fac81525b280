"""Corpora: made once, counted, and embedded by one model."""

import pytest

from schemas.errors import EmbeddingArtifactMismatchError, FailureCategory
from store.corpora import corpora
from store.corpora.keeping import keep
from store.database import Connection
from store.runs import runs
from tests.refusals import failing
from tests.store.conftest import new_run
from tests.store.embedded import embed_and_publish, embed_waiting
from tests.store.kept_works import new_work, small_corpus


async def store_batch(connection: Connection, corpus_id: int, chunk_ids: list[int], status: str) -> None:
    """A job that is about these chunks."""
    inputs = {"corpus_id": corpus_id, "chunk_ids": chunk_ids}
    run = new_run([1], kind="index", mode="corpus", inputs=inputs, stages=("embed", "publish"), request={})
    stored = await runs.store(connection, run, always_new=True)
    await connection.execute("UPDATE job SET status = $2 WHERE run_id = $1", stored.run_id, status)


async def test_what_is_in_a_corpus_is_counted_and_its_tokens_where_every_chunk_is(connection: Connection) -> None:
    corpus = await small_corpus(connection)
    await keep(connection, corpus.id, new_work())
    first, second = await corpora.waiting(connection, corpus.id)
    await embed_and_publish(connection, corpus.id, [first], [[1, 1]])
    await store_batch(connection, corpus.id, [first, second], "failed")

    empty = await small_corpus(connection, "empty")
    counts = {"works": 1, "sections": 2, "searchable": 1, "waiting": 1, "failed": 1, "tables": 1, "figures": 0}
    uncounted = await corpora.view(connection, corpus.id)
    await connection.execute("UPDATE chunks SET tokens = 15 WHERE vector_status IN ('vec', 'to_vec')")
    await connection.execute("UPDATE corpus SET reads_tokens = 10")
    counted = await corpora.view(connection, corpus.id)
    none = dict(await corpora.view(connection, empty.id))

    assert dict(counted).items() >= (counts | {"has_vector_index": False, "questions": 0, "answers": 0}).items()
    assert none.items() >= dict.fromkeys(counts, 0).items()
    assert (uncounted.tokens, uncounted.unseen_tokens, uncounted.unseen_share) == (None, None, None)
    assert (counted.tokens, counted.unseen_tokens, counted.unseen_share, counted.cut) == (30, 10, 1 / 3, 1)


async def test_chunks_that_a_job_covers_are_not_due(connection: Connection) -> None:
    corpus = await small_corpus(connection)
    await keep(connection, corpus.id, new_work())
    first, second = await corpora.waiting(connection, corpus.id)
    await store_batch(connection, corpus.id, [first], "failed")
    for status in ("waiting", "failed", "running", "cancelled", "paused"):
        await connection.execute("UPDATE job SET status = $1", status)
        is_due = status in ("failed", "cancelled")

        due = await corpora.waiting(connection, corpus.id)
        assert (status, due) == (status, [first, second] if is_due else [second])


async def test_a_corpus_names_every_number_format_until_it_is_deleted(connection: Connection) -> None:
    corpus = await small_corpus(connection)
    for dtype in ("", "float32", "bfloat16", "float32"):
        await corpora.pin_model(connection, corpus.id, "a", dtype)
    with pytest.raises(EmbeddingArtifactMismatchError, match="RAGQ_EMBEDDING_DTYPE=float32, and import the works"):
        async with connection.transaction():
            await corpora.pin_model(connection, corpus.id, "a", "float16")

    assert (await corpora.corpus(connection, corpus.id)).model_dtypes == ["float32", "bfloat16"]
    # Once it is deleted, nothing of it is left.
    await keep(connection, corpus.id, new_work())
    await embed_waiting(connection, corpus.id)
    await corpora.delete(connection, corpus.id)

    for table in ("works", "chunks", "chunk_vector", "posting_segment", "posting"):
        assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 0
    with failing(FailureCategory.CORPUS_MISSING):
        await corpora.pin_model(connection, corpus.id, "a", "float32")
