"""Manual edits of a job: stale stages run again, nothing is deleted, and what waits for a row uses nothing old."""

import asyncio
from contextlib import suppress

import numpy as np
import pytest

from schemas.errors import Refused, StageRunningError
from schemas.statuses import JobStatus
from store.database import Connection, Database
from store.runs import attempts, chain, edits, jobs, stages
from tests.store.conftest import StoreRun
from tests.store.scored import claimed
from tests.store.statements import until_blocked


async def complete_stages(connection: Connection, job_id: int, *names: str) -> None:
    for name in names:
        claim = await claimed(connection, job_id, name)
        assert await stages.commit(connection, claim, inputs={}, output={"by": name}) is not None


async def outputs(connection: Connection, job_id: int, *names: str) -> list[object]:
    found = [await attempts.output(connection, job_id, name) for name in names]
    return [None if output is None else output.value for output in found]


async def status(connection: Connection, job_id: int) -> str:
    job = await jobs.get(connection, job_id)
    return job.status


async def test_a_set_output_replaces_the_computed_one_and_later_stages_run_again(
    connection: Connection, store_run: StoreRun
) -> None:
    stored = await store_run(stages=("extract", "embed", "score"))
    job_id = stored.job_ids[0]
    await complete_stages(connection, job_id, "extract", "embed", "score")
    assert await status(connection, job_id) == JobStatus.SUCCEEDED

    await edits.set_output(connection, job_id, "extract", {"by": "me"})

    assert await outputs(connection, job_id, "extract", "embed", "score") == [{"by": "me"}, None, None]
    assert await status(connection, job_id) == JobStatus.WAITING
    (pending,) = await jobs.pending_chains(connection, [job_id])
    assert [stage.stage for stage in pending.stages] == ["embed", "score"]
    await complete_stages(connection, job_id, "embed", "score")
    assert await status(connection, job_id) == JobStatus.SUCCEEDED
    assert len(await attempts.history(connection, job_id, "extract")) == 2
    assert (await chain.audit(connection, stored.run_id)).flaws == []


async def test_a_stage_can_run_again(connection: Connection, store_run: StoreRun) -> None:
    stored = await store_run(stages=("extract", "embed"))
    job_id = stored.job_ids[0]
    await complete_stages(connection, job_id, "extract", "embed")

    await connection.execute("UPDATE job SET note = 'why it was paused' WHERE id = $1", job_id)

    await edits.redo(connection, job_id, "embed")

    assert (await jobs.get(connection, job_id)).note is None
    assert await outputs(connection, job_id, "extract", "embed") == [{"by": "extract"}, None]
    await complete_stages(connection, job_id, "embed")
    assert [attempt.number for attempt in await attempts.history(connection, job_id, "embed")] == [1, 2]
    with pytest.raises(Refused, match="has no stage 'dance'"):
        await edits.redo(connection, job_id, "dance")


async def test_a_running_stage_an_unknown_one_and_one_that_is_not_reached_are_refused(
    connection: Connection, store_run: StoreRun
) -> None:
    stored = await store_run(stages=("extract", "embed"))
    job_id = stored.job_ids[0]
    with pytest.raises(Refused, match=r"'extract' of job .* comes before 'embed'"):
        await edits.redo(connection, job_id, "embed")
    assert await stages.claim(connection, job_id, "extract", "worker", 60) is not None
    for change in (
        edits.set_output(connection, job_id, "extract", {}),
        edits.redo(connection, job_id, "extract"),
        edits.set_stages(connection, job_id, ("extract", "embed", "score")),
        edits.set_stages(connection, job_id, ("extract",)),
    ):
        with pytest.raises(StageRunningError, match="'extract' of job j1 is running"):
            await change


async def test_a_chain_that_ended_early_continues_with_appended_stages(
    connection: Connection, store_run: StoreRun
) -> None:
    stored = await store_run(stages=("extract",))
    job_id = stored.job_ids[0]
    whole = ("extract", "embed", "score")
    await complete_stages(connection, job_id, "extract")

    await edits.set_stages(connection, job_id, whole)
    await edits.set_stages(connection, job_id, whole)

    await complete_stages(connection, job_id, "embed", "score")
    assert await status(connection, job_id) == JobStatus.SUCCEEDED


async def test_an_unfinished_chain_takes_new_stages_after_its_last_one(
    connection: Connection, store_run: StoreRun
) -> None:
    stored = await store_run(stages=("extract",))
    job_id = stored.job_ids[0]
    await edits.set_stages(connection, job_id, ("extract", "embed", "validate"))

    (pending,) = await jobs.pending_chains(connection, [job_id])
    assert pending.queues == ("extract", "embed", "validate.local")
    assert await stages.claim(connection, job_id, "embed", "worker", 60) is None
    await complete_stages(connection, job_id, "extract", "embed", "validate")


async def test_a_chain_can_end_after_any_of_its_stages_and_later_ones_are_kept_as_history(
    connection: Connection, store_run: StoreRun
) -> None:
    stored = await store_run(stages=("extract", "embed", "score"))
    job_id = stored.job_ids[0]
    await complete_stages(connection, job_id, "extract", "embed", "score")

    await edits.set_stages(connection, job_id, ("extract",))

    assert await outputs(connection, job_id, "extract", "embed", "score") == [{"by": "extract"}, None, None]
    assert await status(connection, job_id) == JobStatus.SUCCEEDED
    assert await jobs.pending_chains(connection, [job_id]) == []
    assert [attempt.stage for attempt in await attempts.history(connection, job_id)] == ["extract", "embed", "score"]
    assert await stages.claim(connection, job_id, "embed", "worker", 60) is None
    with pytest.raises(Refused, match="has no stage 'embed'"):
        await edits.redo(connection, job_id, "embed")


async def test_a_removed_stage_that_is_added_again_continues_its_numbers_and_fences(
    connection: Connection, store_run: StoreRun
) -> None:
    stored = await store_run(stages=("extract", "embed"))
    job_id = stored.job_ids[0]
    await complete_stages(connection, job_id, "extract")
    for _ in range(2):
        lost = await claimed(connection, job_id, "embed", lease_s=0)
        assert await stages.expire(connection, max_interruptions=3)
    await edits.set_stages(connection, job_id, ("extract",))
    await edits.set_stages(connection, job_id, ("extract", "embed"))

    again = await stages.claim(connection, job_id, "embed", "worker", 60)
    assert again is not None and (again.attempt, again.fence > lost.fence) == (3, True)
    assert await stages.commit(connection, lost, inputs={}, output={"by": "lost"}) is None
    assert await stages.commit(connection, again, inputs={}, output={"by": "again"}) is not None
    assert await outputs(connection, job_id, "embed") == [{"by": "again"}]
    assert (await chain.audit(connection, stored.run_id)).flaws == []


async def test_what_another_job_stored_is_carried_over_with_its_vectors(
    connection: Connection, store_run: StoreRun
) -> None:
    old, new = await store_run(), await store_run()
    vectors = np.array([[1, 0], [0, 1]], dtype=np.float32)
    claim = await claimed(connection, old.job_ids[0], "extract")
    await stages.commit(connection, claim, inputs={}, output={"by": "old"}, vectors=vectors)

    await edits.carry_over(connection, claim.attempt_id, new.job_ids[0])

    copy = await attempts.output(connection, new.job_ids[0], "extract")
    assert copy is not None and copy.value == {"by": "old"}
    assert (await attempts.vectors(connection, copy.attempt_id)).tolist() == vectors.tolist()
    (attempt,) = await attempts.history(connection, new.job_ids[0])
    assert attempt.inputs == {"by": "manual", "from": {"job": old.job_ids[0], "attempt": 1}}
    assert (await chain.audit(connection, new.run_id)).flaws == []


async def test_two_concurrent_appends_to_a_chain_are_serialised(database: Database, store_run: StoreRun) -> None:
    stored = await store_run(stages=("extract",))

    async def lengthen() -> None:
        async with database.connection() as connection:
            await edits.set_stages(connection, stored.job_ids[0], ("extract", "embed"))

    await asyncio.gather(*(lengthen() for _ in range(4)))

    async with database.connection() as connection:
        assert [of.stage for of in await edits.stage_states(connection, stored.job_ids[0])] == ["extract", "embed"]


async def test_editors_and_workers_never_deadlock(database: Database, store_run: StoreRun) -> None:
    stored = await store_run(stages=("extract", "embed", "score"))
    job_id = stored.job_ids[0]

    async def work() -> None:
        for _ in range(30):
            async with database.connection() as connection:
                for stage in ("extract", "embed", "score"):
                    claim = await stages.claim(connection, job_id, stage, "worker", 60)
                    if claim is not None:
                        await stages.commit(connection, claim, inputs={}, output={})

    async def edit() -> None:
        for _ in range(30):
            async with database.connection() as connection:
                with suppress(Refused):
                    await edits.set_stages(connection, job_id, ("extract", "embed"))
                    await edits.set_stages(connection, job_id, ("extract", "embed", "score"))
                    await edits.redo(connection, job_id, "extract")

    await asyncio.gather(work(), work(), edit(), edit())

    async with database.connection() as connection:
        assert (await chain.audit(connection, stored.run_id)).flaws == []


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
