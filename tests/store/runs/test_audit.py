"""The audit finds every change to stored attempts."""

import json

import numpy as np

from store.database import Connection, Database
from store.runs import attempts, chain, jobs, stages
from store.runs.chain import Flaw, content_hash, stored_hash
from store.runs.runs import StoredRun
from tests.store.conftest import StoreRun
from tests.store.scored import BROKEN, call_model, claimed


async def retried_run(connection: Connection, store_run: StoreRun) -> StoredRun:
    """A run of one job: `extract` failed and was retried, `embed` stored two vectors."""
    stored = await store_run()
    (job_id,) = stored.job_ids
    await stages.fail(connection, await claimed(connection, job_id), BROKEN, inputs={"transcript": "abc"})
    await jobs.retry(connection, run_id=stored.run_id)
    again = await claimed(connection, job_id)
    await stages.commit(connection, again, inputs={"transcript": "abc"}, output={"quotes": ["one"]})
    embedding = await claimed(connection, job_id, "embed")
    vectors = np.array([[0.6, 0.8], [1, 0]], dtype=np.float32)
    await stages.commit(connection, embedding, inputs={}, output={"items": ["Sleep"]}, vectors=vectors)
    return stored


OUTPUT = "its output or its vectors changed"
FACTS = "its outcome, inputs, settings or error changed"
LINK = "the attempt before it changed, or is gone"
GONE = "its attempt is gone"

CHANGES = [
    ("UPDATE stage_attempt SET output = '{\"quotes\": [\"onE\"]}' WHERE stage = 'extract' AND number = 2",
     [("extract", 2, OUTPUT)]),
    ("UPDATE stage_attempt SET output = NULL WHERE stage = 'extract' AND number = 2", [("extract", 2, OUTPUT)]),
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
    ("UPDATE stage_attempt SET output_hash = 'forged' WHERE stage = 'embed'",
     [("embed", 1, OUTPUT), ("embed", 1, FACTS)]),
    ("UPDATE stage_attempt SET previous_hash = 'forged' WHERE stage = 'embed'",
     [("embed", 1, LINK), ("embed", 1, FACTS)]),
    ("UPDATE stage_attempt SET number = 9 WHERE stage = 'embed'", [("embed", 1, GONE), ("embed", 9, FACTS)]),
    ("UPDATE stage_attempt SET stage = 'assemble' WHERE stage = 'embed'",
     [("embed", 1, GONE), ("assemble", 1, FACTS)]),
    ("UPDATE stage_attempt SET hash = NULL WHERE stage = 'embed'", [("embed", 1, "it is closed and carries no hash")]),
    ("DELETE FROM stage_attempt WHERE stage = 'extract' AND number = 1", [("extract", 2, LINK)]),
    ("DELETE FROM stage_attempt WHERE stage = 'embed'", [("embed", 1, GONE)]),
]  # fmt: skip


async def test_changes_are_found(connection: Connection, store_run: StoreRun) -> None:
    stored = await retried_run(connection, store_run)
    assert await chain.audit(connection, stored.run_id) == (3, [])
    for change, found in CHANGES:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute(change)
        audited = await chain.audit(connection, stored.run_id)
        await transaction.rollback()

        assert (change, audited[1]) == (change, [Flaw(stored.job_ids[0], *flaw) for flaw in found])


async def test_the_current_attempt_is_found_by_two_indexes(database: Database) -> None:
    async with database.connection() as connection, connection.transaction():
        await connection.execute("SET LOCAL enable_seqscan = off")
        plan = [row[0] for row in await connection.fetch("EXPLAIN " + attempts.OUTPUTS, 1, ["embed"])]

    used = [index for index in ("stage_run_pkey", "stage_attempt_job_id_stage_number_key") if index in "\n".join(plan)]
    assert (len(used), any("Subquery" in line for line in plan)) == (2, False)


async def test_the_settings_and_the_requests_of_a_run_are_audited(connection: Connection, store_run: StoreRun) -> None:
    stored = await retried_run(connection, store_run)
    settings = {"A": {"value": 1.5, "source": "default"}}
    await connection.execute("UPDATE run SET settings = $1", json.dumps(settings))
    for text in ("same", "changed"):
        await call_model(connection, await connection.fetchval("SELECT min(id) FROM stage_attempt"), text)
    await connection.execute("UPDATE llm_call SET request = '{}' WHERE request::text LIKE '%changed%'")

    assert (await chain.audit(connection, stored.run_id))[1] == [
        Flaw(None, "", 0, "the settings of the run changed"),
        Flaw(stored.job_ids[0], "extract", 1, "the request of a language model call changed"),
    ]


def test_a_number_that_no_json_of_ragq_has_has_no_hash() -> None:
    assert stored_hash('{"n": 2.0}') == content_hash({"n": 2})
    assert stored_hash('{"n": 123456789012345678901234567890}') is None
