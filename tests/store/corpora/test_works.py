"""Works are stored once, replaced whole, and read by line only while unchanged; their corpora are counted."""

from hashlib import sha256

import pytest

from schemas.errors import DuplicateWorkError, EmbeddingArtifactMismatchError, FailureCategory, WorkChangedError
from schemas.statuses import VectorStatus
from schemas.values.requests import WorksWanted
from stages.corpora.works import refuse_changed
from store.corpora import corpora, works
from store.corpora.keeping import ImportOutcome, keep
from store.database import Connection
from store.runs import runs
from tests.refusals import failing
from tests.store.conftest import new_run
from tests.store.small_corpora import (
    TEA,
    chunks_of_work,
    embed_and_publish,
    embed_waiting,
    new_work,
    postings,
    small_corpus,
)

OTHER = TEA.replace("Green", "Black")


async def counts(connection: Connection, corpus_id: int) -> tuple[int, ...]:
    """Chunks, vectors and postings of the database, and the counts of the corpus."""
    stored = await corpora.corpus(connection, corpus_id)
    tables = [await connection.fetchval(f"SELECT count(*) FROM {name}") for name in ("chunks", "chunk_vector")]
    return (*tables, stored.searchable_chunks)


async def test_a_work_is_stored_with_its_chunks_and_their_parents_or_not_at_all(connection: Connection) -> None:
    corpus, _, work = await small_corpus(connection), await small_corpus(connection, "other"), new_work()
    broken = [*work["chunks"][:-1], work["chunks"][-1].model_copy(update={"content": None})]
    with pytest.raises(Exception, match="null value"):
        await keep(connection, corpus.id, **work | {"chunks": broken})
    assert (await works.listed(connection, corpus.id, WorksWanted())).total == 0

    kept_id, kept_outcome = await keep(connection, corpus.id, **work)
    stored = await chunks_of_work(connection, kept_id)

    assert kept_outcome is ImportOutcome.NEW
    assert (await works.work(connection, kept_id)).corpus == corpus.name
    ids = [chunk.id for chunk in stored]
    shown = ("level", "vector_status", "parent_id", "start_line", "end_line")
    assert [tuple(getattr(chunk, name) for name in shown) for chunk in stored] == [
        ("H1", VectorStatus.NO_VEC, None, 1, 11),
        ("H1-chunk", VectorStatus.TO_VEC, ids[0], 3, 3),
        ("H2", VectorStatus.NO_VEC, ids[0], 5, 11),
        ("H2-chunk", VectorStatus.TO_VEC, ids[2], 7, 7),
        ("H2-chunk", VectorStatus.TABLE, ids[2], 9, 11),
    ]
    assert [chunk.heading_breadcrumbs for chunk in stored] == ["Tea", "Tea"] + ["Tea > Leaves"] * 3


async def test_another_text_of_a_source_replaces_every_chunk(connection: Connection) -> None:
    corpus = await small_corpus(connection)
    first_id, _ = await keep(connection, corpus.id, **new_work())
    old = {chunk.id for chunk in await chunks_of_work(connection, first_id)}
    await embed_waiting(connection, corpus.id)
    before = await counts(connection, corpus.id)
    same_id, same_outcome = await keep(connection, corpus.id, **new_work())
    assert (same_id, same_outcome) == (first_id, ImportOutcome.UNCHANGED)
    assert (await counts(connection, corpus.id), await corpora.waiting(connection, corpus.id)) == (before, [])
    again_id, again_outcome = await keep(connection, corpus.id, **new_work(OTHER))
    new = {chunk.id for chunk in await chunks_of_work(connection, again_id)}

    assert (again_id, again_outcome) == (first_id, ImportOutcome.REPLACED)
    assert not old & new
    assert await counts(connection, corpus.id) == (5, 0, 0)
    assert await postings(connection) == []
    assert set(await corpora.waiting(connection, corpus.id)) < new


async def test_the_same_text_from_elsewhere_is_refused_and_a_changed_work_gives_no_lines(
    connection: Connection,
) -> None:
    corpus = await small_corpus(connection)
    first_id, _ = await keep(connection, corpus.id, **new_work())
    with pytest.raises(DuplicateWorkError) as refused:
        await keep(connection, corpus.id, **new_work(title="Copy", source_path="/works/copy.md"))
    other = await small_corpus(connection, "other")
    _, kept_outcome = await keep(connection, other.id, **new_work())

    assert (refused.value.work_id, refused.value.title) == (first_id, "Tea")
    assert "Tea" not in str(refused.value)
    assert kept_outcome is ImportOutcome.NEW

    # A changed work gives no lines.
    expected = {first_id: sha256(TEA.encode()).hexdigest()}
    for change in (
        connection.execute("UPDATE works SET markdown = markdown || 'x' WHERE id = $1", first_id),
        keep(connection, corpus.id, **new_work(OTHER)),
        connection.execute("DELETE FROM works"),
    ):
        await change
        with pytest.raises(WorkChangedError, match=str(first_id)):
            refuse_changed(await works.texts(connection, [first_id]), expected)


async def test_sections_around_a_chunk_reach_up_to_the_outermost(connection: Connection) -> None:
    corpus = await small_corpus(connection)
    deep = "# A\n\nOne.\n\n## B\n\nTwo.\n\n### C\n\nThree.\n\n# D\n\nFour.\n"
    kept_id, _ = await keep(connection, corpus.id, **new_work(deep))
    stored = await chunks_of_work(connection, kept_id)
    three = next(chunk for chunk in stored if chunk.content == "Three.")
    found = await works.around(connection, [three.id])

    sections = sorted((chunk.level, chunk.heading_breadcrumbs) for chunk in found.values())
    assert sections == [("H1", "A"), ("H2", "A > B"), ("H3", "A > B > C")]
    assert await works.by_ids(connection, [stored[0].id, 10**9]) == {stored[0].id: stored[0]}
    assert await works.around(connection, [stored[0].id]) == {}


async def store_job(connection: Connection, corpus_id: int, chunk_ids: list[int], status: str) -> None:
    inputs = {"corpus_id": corpus_id, "chunk_ids": chunk_ids}
    run = new_run([1], kind="index", mode="corpus", inputs=inputs, stages=("embed", "publish"), request={})
    stored = await runs.store(connection, run, always_new=True)
    await connection.execute("UPDATE job SET status = $2 WHERE run_id = $1", stored.run_id, status)


async def test_what_is_in_a_corpus_is_counted(connection: Connection) -> None:
    corpus = await small_corpus(connection)
    await keep(connection, corpus.id, **new_work())
    first, second = await corpora.waiting(connection, corpus.id)
    await embed_and_publish(connection, corpus.id, [first], [[1, 1]])
    await connection.execute("UPDATE job SET inputs = jsonb_build_object('corpus_id', $1::bigint)", corpus.id)
    await connection.execute(
        "UPDATE stage_attempt SET output = jsonb_build_object('cut_chunk_ids', $1::bigint[])", [first]
    )
    await store_job(connection, corpus.id, [first, second], "failed")

    empty = await small_corpus(connection, "empty")
    counts = {"works": 1, "sections": 2, "searchable": 1, "waiting": 1, "failed": 1, "tables": 1, "figures": 0}
    uncounted = await corpora.view(connection, corpus.id)
    await connection.execute("UPDATE chunks SET tokens = 15 WHERE vector_status IN ('vec', 'to_vec')")
    await connection.execute("UPDATE corpus SET reads_tokens = 10")
    counted = await corpora.view(connection, corpus.id)
    none = dict(await corpora.view(connection, empty.id))

    assert dict(counted).items() >= (counts | {"has_vector_index": False, "questions": 0, "answers": 0}).items()
    assert none.items() >= dict.fromkeys(counts, 0).items()
    assert (uncounted.cut, counted.cut) == (1, 2)


async def test_chunks_that_a_job_covers_are_not_due(connection: Connection) -> None:
    corpus = await small_corpus(connection)
    await keep(connection, corpus.id, **new_work())
    first, second = await corpora.waiting(connection, corpus.id)
    await store_job(connection, corpus.id, [first], "failed")
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
    await keep(connection, corpus.id, **new_work())
    await embed_waiting(connection, corpus.id)
    await corpora.delete(connection, corpus.id)

    for table in ("works", "chunks", "chunk_vector", "posting_segment", "posting"):
        assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 0
    with failing(FailureCategory.CORPUS_MISSING):
        await corpora.pin_model(connection, corpus.id, "a", "float32")
