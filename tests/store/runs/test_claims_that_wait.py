"""Claims and edits that wait for a row which another transaction changes: what they read before is not used."""

import asyncio

import pytest

from schemas.errors import StageRunningError
from schemas.statuses import JobStatus
from store.database import Database
from store.runs import chain, edits, jobs, stages
from tests.store.conftest import StoreRun
from tests.store.runs.test_edits import complete_stages, status
from tests.store.statements import until_blocked


async def test_a_claim_that_waits_for_an_edit_takes_nothing_and_the_next_one_continues_the_hashes(
    database: Database, store_run: StoreRun
) -> None:
    stored = await store_run(stages=("extract", "embed"))
    job_id = stored.job_ids[0]
    async with database.connection() as editor, database.connection() as worker, database.connection() as third:
        await complete_stages(editor, job_id, "extract")
        async with editor.transaction():
            await edits.set_output(editor, job_id, "extract", {"by": "me"})
            waiting = asyncio.create_task(stages.claim(worker, job_id, "embed", "worker", 60))
            await until_blocked(third, worker)

        assert await waiting is None

        await complete_stages(worker, job_id, "embed")
        assert (await chain.audit(worker, stored.run_id)).flaws == []


async def test_an_edit_that_waits_for_a_claim_is_refused(database: Database, store_run: StoreRun) -> None:
    stored = await store_run(stages=("extract", "embed"))
    job_id = stored.job_ids[0]
    async with database.connection() as editor, database.connection() as worker, database.connection() as third:
        await complete_stages(editor, job_id, "extract")
        async with worker.transaction():
            claim = await stages.claim(worker, job_id, "embed", "worker", 60)
            editing = asyncio.create_task(edits.set_output(editor, job_id, "extract", {"by": "me"}))
            await until_blocked(third, editor)

        with pytest.raises(StageRunningError):
            await editing
        assert claim is not None
        assert await stages.commit(worker, claim, inputs={}, output={}) is not None


@pytest.mark.parametrize("status_after", [JobStatus.CANCELLED, JobStatus.PAUSED])
async def test_a_job_that_is_held_while_its_stage_is_claimed_stays_held(
    database: Database, store_run: StoreRun, status_after: JobStatus
) -> None:
    stored = await store_run(stages=("extract", "embed"))
    job_id = stored.job_ids[0]
    async with database.connection() as user, database.connection() as worker, database.connection() as third:
        async with user.transaction():
            await jobs.hold(user, status_after, None, job_id=job_id)
            claiming = asyncio.create_task(stages.claim(worker, job_id, "extract", "worker", 60))
            await until_blocked(third, worker)
        claim = await claiming

        assert await status(user, job_id) == status_after
        # What the worker has begun is stored; nothing follows it.
        assert claim is not None
        assert await stages.commit(worker, claim, inputs={}, output={}) is not None
        assert await stages.claim(worker, job_id, "embed", "worker", 60) is None
        assert await status(user, job_id) == status_after
