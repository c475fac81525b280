"""Chunk scores: none are visible until every chunk has its own, and never those of another index."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from schemas.errors import EmbeddingArtifactMismatchError
from schemas.values.participants import ChunkScoresMeta, PHQ8Item
from schemas.values.scoring import ChunkScores
from store.database import Connection, Database
from store.references import index_runs, references
from store.runs import runs, stages
from store.runs.stages import Claim
from tests.fakes.references import IndexedChunk
from tests.store.conftest import new_run
from tests.store.reference_indexes import store_index
from tests.store.scored import claimed

INDEX = 7
EAST = np.array([1, 0], dtype=np.float32)
CHUNKS = [IndexedChunk(1, 304, 0, "first", EAST), IndexedChunk(2, 304, 1, "second", EAST)]
META = ChunkScoresMeta(prompt_hash="p", scorer_model="scorer")


async def submitted(connection: Connection, *chunk_ids: int) -> list[int]:
    """An index of two chunks without scores, and a run that scores some of them. Its jobs."""
    await store_index(connection, INDEX, CHUNKS)
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


async def publish(connection: Connection, claim: Claim) -> bool:
    """Commit a `publish` as its stage does. Whether the scores are stored with it."""
    done: list[bool] = []

    async def effect(connection: Connection) -> None:
        done.append(await index_runs.store_when_complete(connection, claim.run_id, INDEX, META))

    await stages.commit(connection, claim, inputs={}, output={}, effect=effect)
    return done[0]


async def sleep_scores(connection: Connection) -> Sequence[int | None]:
    rows = await connection.fetch("SELECT (scores ->> 'PHQ8_Sleep')::int AS score FROM reference_chunk ORDER BY id")
    return [row["score"] for row in rows]


async def test_scores_are_visible_once_the_last_chunk_has_its_own(connection: Connection) -> None:
    jobs = await submitted(connection, 1, 2)
    first, second = [await scored(connection, job_id, score) for job_id, score in zip(jobs, (3, 0), strict=True)]

    assert not await publish(connection, first)
    assert await sleep_scores(connection) == [None, None]
    assert await publish(connection, second)

    assert await sleep_scores(connection) == [3, 0]
    assert (await references.sidecars(connection, INDEX))[1]
    stored = await connection.fetchval("SELECT scores FROM reference_chunk WHERE id = 1")
    assert stored == dict.fromkeys((item.evidence_key for item in PHQ8Item), None) | {"PHQ8_Sleep": 3}


async def test_jobs_that_end_at_the_same_moment_store_the_scores_once(database: Database) -> None:
    async with database.connection() as connection:
        claims = [await scored(connection, job_id, 2) for job_id in await submitted(connection, 1, 2)]

    assert sorted(await asyncio.gather(*(database.once(publish, claim) for claim in claims))) == [False, True]


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
        await publish(connection, await scored(connection, job_id, 1))
    last = await scored(connection, final, 1, digest=digest)
    await connection.execute("UPDATE reference_index SET replaced_at = now() WHERE $1", is_replaced)

    with pytest.raises(EmbeddingArtifactMismatchError, match=refusal):
        await publish(connection, last)

    assert await sleep_scores(connection) == [None, None]
