"""Runs that build reference indexes, whose stages are stored directly."""

import numpy as np

from schemas.values.runs import AttemptError
from store.database import Connection
from store.references import index_runs, references
from store.runs import runs, stages
from store.runs.stages import Claim
from tests.store.reference_indexes import PLAN, index_run
from tests.store.scored import claimed

CHUNKS = {"chunks": [{"text": "first window", "chunk_hash": "a"}, {"text": "second window", "chunk_hash": "b"}]}
VECTORS = np.eye(2, dtype=np.float32)


async def planned(connection: Connection, *participants: int, may_be_partial: bool = False) -> tuple[int, list[int]]:
    """A stored index run and its jobs."""
    stored = await runs.store(connection, index_run(*participants), always_new=True)
    await references.plan(connection, stored.run_id, PLAN)
    if may_be_partial:
        await index_runs.allow_partial(connection, stored.run_id)
    return stored.run_id, stored.job_ids


async def chunked(connection: Connection, job_id: int) -> Claim:
    """A job that has two windows; the claim on its `embed`."""
    await stages.commit(connection, await claimed(connection, job_id, "chunk"), inputs={}, output=CHUNKS)
    return await claimed(connection, job_id, "embed")


async def embedded(connection: Connection, claim: Claim, *, digest: str = "w") -> Claim:
    """A job whose windows are embedded by these weights; the claim on its `publish`."""
    output = {"model": "tiny", "model_digest": digest}
    await stages.commit(connection, claim, inputs={}, output=output, vectors=VECTORS)
    return await claimed(connection, claim.job_id, "publish")


async def publish(connection: Connection, claim: Claim) -> bool:
    """Complete a job's `publish` as its stage does. Whether the index is published with it."""
    done: list[bool] = []

    async def effect(connection: Connection) -> None:
        done.append(await index_runs.publish_when_complete(connection, claim.run_id))

    await stages.commit(connection, claim, inputs={}, output={}, effect=effect)
    return done[0]


NAN = AttemptError("schemas.errors.EmbeddingValidationError", "it is NaN", "embedding_nan", {})


async def succeed(connection: Connection, job_id: int, *, digest: str = "w") -> bool:
    """Complete all stages of a job."""
    return await publish(connection, await embedded(connection, await chunked(connection, job_id), digest=digest))


async def fail(connection: Connection, job_id: int) -> None:
    """Let a job fail when its two windows are embedded."""
    await stages.fail(connection, await chunked(connection, job_id), NAN, inputs={})
