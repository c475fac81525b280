"""Reference indexes: invisible until complete, published once."""

import asyncio

import numpy as np

from schemas.values.participants import PHQ8Item
from store.database import Connection, Database
from store.references import index_runs, references
from store.references.references import PostgresReferenceSearch
from store.runs import jobs, stages
from store.runs.stages import Claim
from tests.store.index_builds import chunked, embedded, planned, publish
from tests.store.scored import BROKEN, claimed

EAST = np.array([1, 0], dtype=np.float32)


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

    async def publish_alone(claim: Claim) -> bool:
        async with database.connection() as connection:
            return await publish(connection, claim)

    done = await asyncio.gather(*map(publish_alone, claims))

    assert sorted(done) == [False, False, False, True]
    async with database.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM reference_chunk") == 8
        assert await connection.fetchval("SELECT count(*) FROM reference_vector") == 8


async def test_while_a_participant_fails_the_older_index_is_kept(connection: Connection) -> None:
    old_run, (old_job,) = await planned(connection, 304)
    await publish(connection, await embedded(connection, await chunked(connection, old_job)))
    new_run, (good, bad) = await planned(connection, 304, 313)
    await publish(connection, await embedded(connection, await chunked(connection, good)))
    await stages.fail(connection, await claimed(connection, bad, "chunk"), BROKEN, inputs={})

    assert [index.run_id for index in await references.current(connection)] == [old_run]
    await jobs.retry(connection, run_id=new_run)
    await publish(connection, await embedded(connection, await chunked(connection, bad)))

    assert [index.run_id for index in await references.current(connection)] == [new_run]
    old = await index_runs.by_run(connection, old_run)
    assert old is not None
    assert old.replaced_at is not None


async def test_the_chunks_and_scores_of_a_published_index_are_found(database: Database) -> None:
    async with database.connection() as connection:
        run_id, (job_id,) = await planned(connection, 313)
        await publish(connection, await embedded(connection, await chunked(connection, job_id)))
        index = await index_runs.by_run(connection, run_id)
    assert index is not None

    (found,) = await PostgresReferenceSearch(database).nearest(
        index.id, [(PHQ8Item.SLEEP, EAST)], limit=5, exclude_participants=[]
    )

    assert [(reference.ordinal, reference.similarity, reference.score) for reference in found] == [
        (0, 1.0, 1),
        (1, 0.5, 1),
    ]
    async with database.connection() as connection:
        texts = await references.chunk_texts(connection, [reference.chunk_id for reference in found])
    assert list(texts.values()) == ["first window", "second window"]
