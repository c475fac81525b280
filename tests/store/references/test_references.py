"""Reference indexes: invisible until complete, published once, and more complete after a retry; search and scores."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import numpy as np
import pytest

from schemas.errors import EmbeddingArtifactMismatchError
from schemas.statuses import JobStatus
from schemas.values.participants import PartialBuild, PHQ8Item
from schemas.values.runs import AttemptError
from schemas.values.scoring import ChunkScores
from store.database import Connection, Database
from store.references import index_runs, references
from store.references.references import PostgresReferenceSearch, StoredIndex
from store.runs import backlog, jobs, overviews, runs, stages
from store.runs.backlog import Flow
from store.runs.overviews import RunOverview
from store.runs.stages import Claim
from store.views import run_state
from tests.fakes.references import IndexedChunk
from tests.store.conftest import new_run
from tests.store.reference_indexes import PLAN, index_run, store_index
from tests.store.scored import BROKEN, claimed

TEXTS = ("first window", "second window")
VECTORS = np.eye(2, dtype=np.float32)
Complete = Callable[[Connection, int], Awaitable[bool]]


async def planned(connection: Connection, *participants: int, may_be_partial: bool = False) -> tuple[int, list[int]]:
    stored = await runs.store(connection, index_run(*participants), always_new=True)
    await references.plan(connection, stored.run_id, PLAN)
    if may_be_partial:
        await runs.allow_partial(connection, stored.run_id)
    return stored.run_id, stored.job_ids


async def chunked(connection: Connection, job_id: int) -> Claim:
    """A job that has two windows; the claim on its `embed`."""
    claim = await claimed(connection, job_id, "chunk")
    at = {"participant_id": int(claim.subject), "chunk_hash": "h"}
    chunks = [{"text": text, "ordinal": ordinal, **at} for ordinal, text in enumerate(TEXTS)]
    await stages.commit(connection, claim, inputs={}, output={"chunks": chunks})
    return await claimed(connection, job_id, "embed")


async def embedded(connection: Connection, claim: Claim, *, digest: str = "w") -> Claim:
    """A job whose windows are embedded by these weights; the claim on its `publish`."""
    output = {"model": "tiny", "model_digest": digest}
    await stages.commit(connection, claim, inputs={}, output=output, vectors=VECTORS)
    return await claimed(connection, claim.job_id, "publish")


async def publish(connection: Connection, claim: Claim, complete: Complete = index_runs.publish_when_complete) -> bool:
    """Complete a job's `publish` as its stage does. Whether the index, or its scores, are published with it."""
    done: list[bool] = []

    async def effect(connection: Connection) -> None:
        done.append(await complete(connection, claim.run_id))

    await stages.commit(connection, claim, inputs={}, output={}, effect=effect)
    return done[0]


NAN = AttemptError("schemas.errors.EmbeddingValidationError", "it is NaN", "embedding_nan", {})


async def succeed(connection: Connection, job_id: int, *, digest: str = "w") -> bool:
    return await publish(connection, await embedded(connection, await chunked(connection, job_id), digest=digest))


async def fail(connection: Connection, job_id: int) -> None:
    """Let a job fail when its two windows are embedded."""
    await stages.fail(connection, await chunked(connection, job_id), NAN, inputs={})


EAST = np.array([1, 0], dtype=np.float32)


def left_out(index: StoredIndex) -> tuple[int, ...]:
    return () if index.partial is None else index.partial.skipped_participants


async def the_index(connection: Connection) -> StoredIndex:
    (index,) = await references.current(connection)
    return index


async def test_an_index_is_listed_when_its_last_participant_is_done_and_not_before(connection: Connection) -> None:
    run_id, jobs = await planned(connection, 304, 313)
    first, second = [await embedded(connection, await chunked(connection, job_id)) for job_id in jobs]

    assert await publish(connection, first) is False
    assert await references.current(connection) == []
    assert await publish(connection, second) is True

    (index,) = await references.current(connection)
    assert (index.run_id, index.participants, index.chunks, index.model_digest) == (run_id, 2, 4, "w")


async def test_jobs_that_end_at_the_same_moment_publish_exactly_once(database: Database) -> None:
    async with database.connection() as connection:
        _, jobs = await planned(connection, 304, 313, 321, 330)
        claims = [await embedded(connection, await chunked(connection, job_id)) for job_id in jobs]

        done = await asyncio.gather(*(database.once(publish, claim) for claim in claims))

        assert sorted(done) == [False, False, False, True]
        for table in ("reference_chunk", "reference_vector"):
            assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 8


async def test_while_a_participant_fails_the_older_index_is_kept(connection: Connection) -> None:
    old_run, (old_job,) = await planned(connection, 304)
    await succeed(connection, old_job)
    new_run, (good, bad) = await planned(connection, 304, 313)
    await succeed(connection, good)
    await stages.fail(connection, await claimed(connection, bad, "chunk"), BROKEN, inputs={})

    assert [index.run_id for index in await references.current(connection)] == [old_run]
    await jobs.retry(connection, run_id=new_run)
    await succeed(connection, bad)

    assert [index.run_id for index in await references.current(connection)] == [new_run]
    old = await index_runs.by_run(connection, old_run)
    assert old is not None and old.replaced_at is not None


async def test_the_chunks_and_scores_of_a_published_index_are_found(database: Database, connection: Connection) -> None:
    _, (job_id,) = await planned(connection, 313)
    await succeed(connection, job_id)

    (found,) = await PostgresReferenceSearch(database).nearest(
        (await the_index(connection)).id, [(PHQ8Item.SLEEP, EAST)], limit=5, exclude_participants=[]
    )

    texts = await references.chunk_texts(connection, [reference.chunk_id for reference in found])
    assert list(texts.values()) == ["first window", "second window"]
    assert [(one.ordinal, one.similarity, one.score) for one in found] == [(0, 1.0, 1), (1, 0.5, 1)]


async def test_all_items_are_searched_in_one_statement(database: Database) -> None:
    statements: list[str] = []
    async with database.connection() as connection:
        connection.add_query_logger(lambda statement: statements.append(statement.query))
        await store_index(connection, 7, [IndexedChunk(1, 304, 0, "window", EAST)])
    search = PostgresReferenceSearch(database)

    async def sent_for(items: Sequence[PHQ8Item]) -> list[str]:
        statements.clear()
        await search.nearest(7, [(item, EAST) for item in items], limit=5, exclude_participants=[])
        return list(statements)

    await sent_for([PHQ8Item.SLEEP])  # The first time, the driver looks up the types.
    sent = await sent_for(list(PHQ8Item))
    assert sent == await sent_for([PHQ8Item.SLEEP])
    assert sum("reference_vector" in statement for statement in sent) == 1


async def test_a_job_that_succeeds_last_publishes_without_those_that_failed(connection: Connection) -> None:
    run_id, (bad, good, other) = await planned(connection, 304, 313, 321, may_be_partial=True)
    await fail(connection, bad)
    assert not await succeed(connection, good)
    assert await references.current(connection) == []

    assert await succeed(connection, other)

    index = await the_index(connection)
    assert (index.participants, index.chunks) == (2, 4)
    assert index.partial == PartialBuild(skipped_participants=(304,), chunk_skip_reason_counts={"embedding_nan": 2})
    assert list(await references.labels(connection, index.id)) == [313, 321]
    assert not await references.is_publication_due(connection, run_id)


async def test_the_vectors_of_evidence_are_those_after_the_chunks(connection: Connection) -> None:
    _, (job_id,) = await planned(connection, 304)
    embedding = await chunked(connection, job_id)
    output = {"model": "tiny", "model_digest": "w", "chunk_vectors": 2, "items": ["Sleep", "Tired"]}
    vectors = np.array([[1, 0], [0, 1], [1, 1], [1, 2]], dtype=np.float32)
    await stages.commit(connection, embedding, inputs={}, output=output, vectors=vectors)

    assert await publish(connection, await claimed(connection, job_id, "publish"))

    rows = await connection.fetch("SELECT item, vector FROM reference_evidence")
    assert {row["item"]: row["vector"].to_list() for row in rows} == {"PHQ8_Sleep": [1, 1], "PHQ8_Tired": [1, 2]}


async def test_when_the_last_job_fails_another_publishes_again(database: Database, connection: Connection) -> None:
    run_id, (good, bad) = await planned(connection, 304, 313, may_be_partial=True)
    await succeed(connection, good)
    assert not await references.is_publication_due(connection, run_id)
    assert await index_runs.publish_again(connection) == []
    await fail(connection, bad)
    assert await references.is_publication_due(connection, run_id)
    assert await references.current(connection) == []

    # Of reapers at the same moment one starts the publication.
    due = await asyncio.gather(*(database.once(index_runs.publish_again) for _ in range(4)))
    assert sorted(due) == [[], [], [], [good]]
    assert await backlog.oldest(connection, {}, {Flow(run_id, False): 9}) == {Flow(run_id, False): [good]}
    assert await publish(connection, await claimed(connection, good, "publish"))

    index = await the_index(connection)
    assert (index.participants, left_out(index)) == (1, (313,))
    assert not await references.is_publication_due(connection, run_id)


async def test_without_permission_nothing_is_due(connection: Connection) -> None:
    run_id, (good, bad) = await planned(connection, 304, 313)
    await fail(connection, bad)
    assert not await succeed(connection, good)

    assert not await references.is_publication_due(connection, run_id)
    assert (await index_runs.publish_again(connection), await references.current(connection)) == ([], [])

    await runs.allow_partial(connection, run_id)
    assert await index_runs.publish_again(connection) == [good]


async def test_a_retry_publishes_a_fuller_index_and_leaves_the_partial_one(connection: Connection) -> None:
    run_id, (good, bad, worse) = await planned(connection, 304, 313, 321, may_be_partial=True)
    await fail(connection, bad)
    await fail(connection, worse)
    await succeed(connection, good)
    partial = await the_index(connection)
    await jobs.retry(connection, run_id=run_id)

    await publish(connection, await embedded(connection, await claimed(connection, bad, "embed")))
    assert (await the_index(connection)).id == partial.id
    await stages.fail(connection, await claimed(connection, worse, "embed"), NAN, inputs={})
    (again,) = await index_runs.publish_again(connection)
    await publish(connection, await claimed(connection, again, "publish"))

    fuller = await the_index(connection)
    assert (fuller.participants, left_out(fuller)) == (2, (321,))
    await jobs.retry(connection, run_id=run_id)
    assert await publish(connection, await embedded(connection, await claimed(connection, worse, "embed")))
    whole = await the_index(connection)
    assert (whole.participants, whole.partial, whole.run_id) == (3, None, run_id)
    assert list(await references.labels(connection, partial.id)) == [304]


async def test_a_failed_publish_waits_for_a_manual_retry(connection: Connection) -> None:
    run_id, (good, other, bad) = await planned(connection, 304, 313, 321, may_be_partial=True)
    await succeed(connection, good, digest="old")
    await succeed(connection, other, digest="new")
    await fail(connection, bad)
    assert await index_runs.publish_again(connection) == [good]
    claim = await claimed(connection, good, "publish")

    with pytest.raises(EmbeddingArtifactMismatchError, match="2 different weights"):
        await publish(connection, claim)
    await stages.fail(connection, claim, NAN, inputs={})

    assert not await references.is_publication_due(connection, run_id)
    assert (await index_runs.publish_again(connection), await references.current(connection)) == ([], [])


async def test_a_run_that_is_about_to_publish_is_never_idle(
    database: Database, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs and publication are read in one snapshot: a reaper may commit between two statements."""
    run_id, (good, bad) = await planned(connection, 304, 313, may_be_partial=True)
    await succeed(connection, good)
    await fail(connection, bad)
    get = overviews.get

    async def read_then_change(connection: Connection, run_id: int) -> RunOverview:
        found = await get(connection, run_id)
        assert await database.once(index_runs.publish_again) == [good]
        return found

    monkeypatch.setattr(overviews, "get", read_then_change)
    state = await run_state(connection, run_id)

    assert (state.states, state.is_idle) == ({JobStatus.SUCCEEDED: 1, JobStatus.FAILED: 1}, False)


INDEX = 7
SCORED = [IndexedChunk(1, 304, 0, "first", EAST), IndexedChunk(2, 304, 1, "second", EAST)]
keep_scores = partial(index_runs.store_when_complete, index_id=INDEX)


async def submitted(connection: Connection, *chunk_ids: int) -> list[int]:
    """An index of two chunks without scores, and a run that scores some of them. Its jobs."""
    await store_index(connection, INDEX, SCORED)
    await connection.execute("UPDATE reference_chunk SET scores = NULL")
    run = new_run(chunk_ids, kind="index", mode="chunk_scores", inputs={}, stages=("score", "publish"), request={})
    return (await runs.store(connection, run, always_new=True)).job_ids


async def scored(connection: Connection, job_id: int, score: int, *, digest: str = "w") -> Claim:
    """A job whose chunk has been scored for Sleep; the claim on its `publish`."""
    output = ChunkScores(
        model="scorer", model_digest=digest, prompt_hash="p", scores=dict.fromkeys(PHQ8Item) | {PHQ8Item.SLEEP: score}
    ).model_dump(mode="json")
    await stages.commit(connection, await claimed(connection, job_id, "score"), inputs={}, output=output)
    return await claimed(connection, job_id, "publish")


async def sleep_scores(connection: Connection) -> Sequence[int | None]:
    rows = await connection.fetch("SELECT (scores ->> 'PHQ8_Sleep')::int AS score FROM reference_chunk ORDER BY id")
    return [row["score"] for row in rows]


async def test_scores_are_visible_once_the_last_chunk_has_its_own(connection: Connection) -> None:
    jobs = await submitted(connection, 1, 2)
    first, second = [await scored(connection, job_id, score) for job_id, score in zip(jobs, (3, 0), strict=True)]

    assert not await publish(connection, first, keep_scores)
    assert await sleep_scores(connection) == [None, None]
    assert await publish(connection, second, keep_scores)

    assert await sleep_scores(connection) == [3, 0]
    assert (await references.sidecars(connection, INDEX))[1]
    stored = await connection.fetchval("SELECT scores FROM reference_chunk WHERE id = 1")
    assert stored == dict.fromkeys((item.evidence_key for item in PHQ8Item), None) | {"PHQ8_Sleep": 3}


async def test_jobs_that_end_at_the_same_moment_store_the_scores_once(database: Database) -> None:
    async with database.connection() as connection:
        claims = [await scored(connection, job_id, 2) for job_id in await submitted(connection, 1, 2)]

    assert sorted(await asyncio.gather(*(database.once(publish, claim, keep_scores) for claim in claims))) == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("chunk_ids", "digest", "is_replaced", "refusal"),
    [
        ([1], "w", False, "scored 1 of 2 chunks"),
        ([1, 2], "new", False, "2 different weights or prompts"),
        ([1, 2], "w", True, "Reference index 7 was replaced"),
    ],
)
async def test_scores_by_different_weights_or_of_not_all_or_replaced_chunks_are_not_stored(
    connection: Connection, chunk_ids: list[int], digest: str, is_replaced: bool, refusal: str
) -> None:
    *first, final = await submitted(connection, *chunk_ids)
    for job_id in first:
        await publish(connection, await scored(connection, job_id, 1), keep_scores)
    last = await scored(connection, final, 1, digest=digest)
    await connection.execute("UPDATE reference_index SET replaced_at = now() WHERE $1", is_replaced)

    with pytest.raises(EmbeddingArtifactMismatchError, match=refusal):
        await publish(connection, last, keep_scores)

    assert await sleep_scores(connection) == [None, None]
