"""The audit finds every change to stored attempts."""

from collections.abc import Awaitable, Callable

import numpy as np
import pytest

from schemas.values.failures import AttemptError
from store.database import Connection, Database
from store.runs import attempts, job_control, stages
from store.runs.attempts import Flaw
from store.runs.runs import StoredRun
from store.runs.stages import Claim

StoreRun = Callable[..., Awaitable[StoredRun]]


async def retried_run(connection: Connection, store_run: StoreRun) -> StoredRun:
    """A run of one job: `extract` failed and was retried, `embed` stored two vectors."""
    stored = await store_run()

    async def claim(stage: str) -> Claim:
        claim = await stages.claim(connection, stored.job_ids[0], stage, "worker", 60)
        assert claim is not None
        return claim

    failure = AttemptError("builtins.RuntimeError", "it broke", "unknown", {})
    await stages.fail(connection, await claim("extract"), failure, inputs={"transcript": "abc"})
    await job_control.retry(connection, run_id=stored.run_id)
    await stages.commit(connection, await claim("extract"), inputs={"transcript": "abc"}, output={"quotes": ["one"]})
    vectors = np.array([[0.6, 0.8], [1, 0]], dtype=np.float32)
    await stages.commit(connection, await claim("embed"), inputs={}, output={"items": ["Sleep"]}, vectors=vectors)
    return stored


async def test_an_unchanged_run_has_no_flaw(database: Database, store_run: StoreRun) -> None:
    async with database.connection() as connection:
        stored = await retried_run(connection, store_run)

        assert await attempts.audit(connection, stored.run_id) == attempts.Audit(3, [])


OUTPUT = "its output or its vectors changed"
FACTS = "its outcome, inputs, settings or error changed"
LINK = "the attempt before it changed, or is gone"
GONE = "its attempt is gone"
NO_HASH = "it is closed and carries no hash"

CHANGES = [
    ("UPDATE stage_attempt SET output = '{\"quotes\": [\"onE\"]}' WHERE stage = 'extract' AND number = 2",
     [("extract", 2, OUTPUT)]),
    ("UPDATE stage_vector SET vector = '[0.6,0.79999995]' WHERE ordinal = 0", [("embed", 1, OUTPUT)]),
    ("DELETE FROM stage_vector WHERE ordinal = 1", [("embed", 1, OUTPUT)]),
    ("UPDATE stage_vector SET ordinal = 1 - ordinal + 5", [("embed", 1, OUTPUT)]),
    ("UPDATE stage_attempt SET error_message = 'it brokE' WHERE number = 1 AND stage = 'extract'",
     [("extract", 1, FACTS)]),
    ("UPDATE stage_attempt SET error_type = NULL WHERE number = 1 AND stage = 'extract'", [("extract", 1, FACTS)]),
    ("UPDATE stage_attempt SET outcome = 'succeeded' WHERE number = 1 AND stage = 'extract'", [("extract", 1, FACTS)]),
    ("UPDATE stage_attempt SET inputs = '{\"transcript\": \"abd\"}' WHERE number = 2", [("extract", 2, FACTS)]),
    ("UPDATE run SET settings_hash = 'other'", [("extract", 1, FACTS), ("extract", 2, FACTS), ("embed", 1, FACTS)]),
    ("UPDATE stage_attempt SET hash = 'forged' WHERE stage = 'extract' AND number = 2",
     [("extract", 2, FACTS), ("embed", 1, LINK)]),
    ("UPDATE stage_attempt SET hash = NULL WHERE stage = 'embed'", [("embed", 1, NO_HASH)]),
    ("DELETE FROM stage_attempt WHERE stage = 'extract' AND number = 1", [("extract", 2, LINK)]),
    ("DELETE FROM stage_attempt WHERE stage = 'embed'", [("embed", 1, GONE)]),
]  # fmt: skip


@pytest.mark.parametrize(("change", "found"), CHANGES, ids=[change for change, _ in CHANGES])
async def test_changes_are_found(
    database: Database, store_run: StoreRun, change: str, found: list[tuple[str, int, str]]
) -> None:
    async with database.connection() as connection:
        stored = await retried_run(connection, store_run)

        await connection.execute(change)

        assert (await attempts.audit(connection, stored.run_id)).flaws == [
            Flaw(stored.job_ids[0], *flaw) for flaw in found
        ]


async def test_the_current_attempt_is_found_by_two_indexes(database: Database) -> None:
    async with database.connection() as connection, connection.transaction():
        await connection.execute("SET LOCAL enable_seqscan = off")
        plan = [row[0] for row in await connection.fetch("EXPLAIN " + attempts.OUTPUT, 1, "embed")]

    used = [index for index in ("stage_run_pkey", "stage_attempt_job_id_stage_number_key") if index in "\n".join(plan)]
    assert (len(used), any("Subquery" in line for line in plan)) == (2, False)
