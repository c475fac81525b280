"""Manual edits of a job: stale stages run again, nothing is deleted, and what waits for a row uses nothing old."""

import asyncio
from contextlib import suppress

import pytest

from schemas.errors import Refused, StageRunningError
from schemas.statuses import JobStatus
from store.database import Connection, Database
from store.runs import attempts, chain, edits, jobs, stages
from store.runs.runs import StoredRun
from tests.store.conftest import STAGES, StoreRun
from tests.store.scored import claimed
from tests.store.statements import one_waits


async def complete(connection: Connection, job_id: int, *names: str) -> None:
    for name in names:
        claim = await claimed(connection, job_id, name)
        assert await stages.commit(connection, claim, inputs={}, output={"by": name})


async def outputs(connection: Connection, job_id: int, *names: str) -> list[object]:
    found = [await attempts.output(connection, job_id, name) for name in names]
    return [None if output is None else output.value for output in found]


async def status(connection: Connection, job_id: int) -> str:
    return (await jobs.get(connection, job_id)).status


async def is_whole(connection: Connection, run: StoredRun) -> bool:
    return (await chain.audit(connection, run.run_id))[1] == []


async def test_stages_after_an_edited_one_run_again(connection: Connection, one_run: StoredRun, job_id: int) -> None:
    await complete(connection, job_id, *STAGES)
    assert await status(connection, job_id) == JobStatus.SUCCEEDED

    await edits.set_output(connection, job_id, "extract", {"by": "me"})

    assert await outputs(connection, job_id, *STAGES) == [{"by": "me"}, None, None]
    assert await status(connection, job_id) == JobStatus.WAITING
    (pending,) = await jobs.pending_chains(connection, [job_id])
    assert [stage.stage for stage in pending.stages] == ["embed", "assemble"]
    await complete(connection, job_id, "embed", "assemble")
    assert await status(connection, job_id) == JobStatus.SUCCEEDED
    assert len(await attempts.history(connection, job_id, "extract")) == 2

    await connection.execute("UPDATE job SET note = 'why it was paused' WHERE id = $1", job_id)
    await edits.redo(connection, job_id, "embed")

    assert (await jobs.get(connection, job_id)).note is None
    assert await outputs(connection, job_id, *STAGES) == [{"by": "me"}, None, None]
    await complete(connection, job_id, "embed")
    assert [attempt.number for attempt in await attempts.history(connection, job_id, "embed")] == [1, 2, 3]
    assert await is_whole(connection, one_run)


async def test_what_cannot_run_again_now_is_refused(connection: Connection, job_id: int) -> None:
    with pytest.raises(Refused, match="has no stage 'dance'"):
        await edits.redo(connection, job_id, "dance")
    with pytest.raises(Refused, match=r"'extract' of job .* comes before 'embed'"):
        await edits.redo(connection, job_id, "embed")
    await claimed(connection, job_id)
    for change in (
        edits.set_output(connection, job_id, "extract", {}),
        edits.redo(connection, job_id, "extract"),
        edits.set_stages(connection, job_id, (*STAGES, "score")),
        edits.set_stages(connection, job_id, ("extract",)),
    ):
        with pytest.raises(StageRunningError, match="'extract' of job j1 is running"):
            await change


async def test_a_chain_that_ended_or_not_takes_new_stages(connection: Connection, store_run: StoreRun) -> None:
    ended, unfinished = (await store_run("316", "319", stages=("extract",))).job_ids
    await complete(connection, ended, "extract")
    for _ in range(2):
        await edits.set_stages(connection, ended, ("extract", "embed", "score"))
    await edits.set_stages(connection, unfinished, ("extract", "embed", "validate"))

    (pending,) = await jobs.pending_chains(connection, [unfinished])
    assert pending.queues == ("extract", "embed", "validate.local")
    assert await stages.claim(connection, unfinished, "embed", "worker", 60) is None
    await complete(connection, unfinished, "extract", "embed", "validate")
    await complete(connection, ended, "embed", "score")
    assert await status(connection, ended) == JobStatus.SUCCEEDED


async def test_a_chain_can_end_after_any_of_its_stages(connection: Connection, job_id: int) -> None:
    await complete(connection, job_id, *STAGES)

    await edits.set_stages(connection, job_id, ("extract",))

    assert await outputs(connection, job_id, *STAGES) == [{"by": "extract"}, None, None]
    assert await status(connection, job_id) == JobStatus.SUCCEEDED
    assert await jobs.pending_chains(connection, [job_id]) == []
    assert [attempt.stage for attempt in await attempts.history(connection, job_id)] == list(STAGES)
    assert await stages.claim(connection, job_id, "embed", "worker", 60) is None
    with pytest.raises(Refused, match="has no stage 'embed'"):
        await edits.redo(connection, job_id, "embed")


async def test_a_removed_stage_that_is_added_again_continues_its_numbers_and_fences(
    connection: Connection, one_run: StoredRun, job_id: int
) -> None:
    await complete(connection, job_id, "extract")
    for _ in range(2):
        lost = await claimed(connection, job_id, "embed", lease_s=0)
        assert await stages.expire(connection, max_interruptions=3)
    for names in (("extract",), ("extract", "embed")):
        await edits.set_stages(connection, job_id, names)

    again = await claimed(connection, job_id, "embed")
    assert (again.attempt, again.fence > lost.fence) == (3, True)
    assert not await stages.commit(connection, lost, inputs={}, output={"by": "lost"})
    assert await stages.commit(connection, again, inputs={}, output={"by": "again"})
    assert await outputs(connection, job_id, "embed") == [{"by": "again"}]
    assert await is_whole(connection, one_run)


async def test_concurrent_appends_to_a_chain_are_serialised(database: Database, job_id: int) -> None:
    longer = (*STAGES, "score")
    await asyncio.gather(*(database.once(edits.set_stages, job_id, longer) for _ in range(4)))

    assert tuple(of.stage for of in await database.once(edits.stage_states, job_id)) == longer


async def test_editors_and_workers_never_deadlock(database: Database, one_run: StoredRun, job_id: int) -> None:
    async def work() -> None:
        for _ in range(30):
            async with database.connection() as connection:
                for stage in STAGES:
                    claim = await stages.claim(connection, job_id, stage, "worker", 60)
                    if claim is not None:
                        await stages.commit(connection, claim, inputs={}, output={})

    async def edit() -> None:
        for _ in range(30):
            async with database.connection() as connection:
                with suppress(Refused):
                    await edits.set_stages(connection, job_id, STAGES[:2])
                    await edits.set_stages(connection, job_id, STAGES)
                    await edits.redo(connection, job_id, "extract")

    await asyncio.gather(work(), work(), edit(), edit())

    assert await database.once(is_whole, one_run)


async def test_a_claim_that_waits_for_an_edit_takes_nothing_and_the_next_one_continues_the_hashes(
    database: Database, one_run: StoredRun, job_id: int
) -> None:
    await database.once(complete, job_id, "extract")
    _, claim = await one_waits(
        database,
        lambda editor: edits.set_output(editor, job_id, "extract", {"by": "me"}),
        lambda worker: stages.claim(worker, job_id, "embed", "worker", 60),
    )

    assert claim is None
    await database.once(complete, job_id, "embed")
    assert await database.once(is_whole, one_run)


async def test_an_edit_that_waits_for_a_claim_is_refused(database: Database, job_id: int) -> None:
    async def edit(editor: Connection) -> None:
        with pytest.raises(StageRunningError):
            await edits.set_output(editor, job_id, "extract", {"by": "me"})

    await database.once(complete, job_id, "extract")
    claim, _ = await one_waits(database, lambda worker: claimed(worker, job_id, "embed"), edit)

    assert await database.once(stages.commit, claim, inputs={}, output={})


@pytest.mark.parametrize("held_as", [JobStatus.CANCELLED, JobStatus.PAUSED])
async def test_a_job_held_while_it_is_claimed_stays_held(database: Database, job_id: int, held_as: JobStatus) -> None:
    _, claim = await one_waits(
        database, lambda user: jobs.hold(user, held_as, None, job_id=job_id), lambda worker: claimed(worker, job_id)
    )

    assert await database.once(status, job_id) == held_as
    # What the worker has begun is stored; nothing follows it.
    assert await database.once(stages.commit, claim, inputs={}, output={})
    assert await database.once(stages.claim, job_id, "embed", "worker", 60) is None
    assert await database.once(status, job_id) == held_as
