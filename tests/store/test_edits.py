"""A job changed by hand: what was computed from the old state comes again, and nothing is erased."""

from collections.abc import Awaitable, Callable

import pytest

from schemas.errors import Refused
from schemas.statuses import JobStatus
from store import attempts, edits, runs, stages
from store.database import Connection, Database
from store.runs import Stored

StoreRun = Callable[..., Awaitable[Stored]]


async def carry_out(connection: Connection, job_id: int, *names: str) -> None:
    for name in names:
        claim = await stages.claim(connection, job_id, name, "worker", 60)
        assert claim is not None, name
        assert await stages.commit(connection, claim, inputs={}, output={"by": name}) is not None


async def outputs(connection: Connection, job_id: int, *names: str) -> list[object]:
    found = [await attempts.output(connection, job_id, name) for name in names]
    return [None if output is None else output.value for output in found]


async def status(connection: Connection, job_id: int) -> str:
    job = await runs.job(connection, job_id)
    assert job is not None
    return str(job["status"])


async def test_a_given_output_takes_the_place_of_the_computed_one_and_later_stages_come_again(
    database: Database, store_run: StoreRun
) -> None:
    stored = await store_run(stages=("extract", "embed", "score"))
    job_id = stored.job_ids[0]
    async with database.connection() as connection:
        await carry_out(connection, job_id, "extract", "embed", "score")
        assert await status(connection, job_id) == JobStatus.SUCCEEDED

        await edits.give(connection, job_id, "extract", {"by": "me"})

        assert await outputs(connection, job_id, "extract", "embed", "score") == [{"by": "me"}, None, None]
        assert await status(connection, job_id) == JobStatus.WAITING
        (route,) = await runs.routes(connection, [job_id])
        assert [hop.stage for hop in route.hops] == ["embed", "score"]
        await carry_out(connection, job_id, "embed", "score")
        assert await status(connection, job_id) == JobStatus.SUCCEEDED
        assert len(await attempts.history(connection, job_id, "extract")) == 2
        assert (await attempts.audit(connection, stored.run_id)).flaws == []


async def test_an_edit_with_a_note_pauses_the_job_until_it_is_resumed(database: Database, store_run: StoreRun) -> None:
    stored = await store_run(stages=("extract", "embed"))
    job_id = stored.job_ids[0]
    async with database.connection() as connection:
        await carry_out(connection, job_id, "extract", "embed")

        await edits.give(connection, job_id, "extract", {"by": "me"}, pause_note="edited")

        assert await stages.claim(connection, job_id, "embed", "worker", 60) is None
        assert await runs.resume(connection, job_id=job_id) == [job_id]
        await carry_out(connection, job_id, "embed")


async def test_giving_the_last_output_ends_the_job(database: Database, store_run: StoreRun) -> None:
    stored = await store_run(stages=("extract",))
    async with database.connection() as connection:
        await edits.give(connection, stored.job_ids[0], "extract", {"by": "me"})

        assert await status(connection, stored.job_ids[0]) == JobStatus.SUCCEEDED


async def test_a_stage_can_be_done_again(database: Database, store_run: StoreRun) -> None:
    stored = await store_run(stages=("extract", "embed"))
    job_id = stored.job_ids[0]
    async with database.connection() as connection:
        await carry_out(connection, job_id, "extract", "embed")

        await edits.redo(connection, job_id, "embed")

        assert await outputs(connection, job_id, "extract", "embed") == [{"by": "extract"}, None]
        await carry_out(connection, job_id, "embed")
        assert [attempt["number"] for attempt in await attempts.history(connection, job_id, "embed")] == [1, 2]
        with pytest.raises(Refused, match="has no stage 'dance'"):
            await edits.redo(connection, job_id, "dance")


async def test_a_running_stage_an_unknown_one_and_one_that_is_not_reached_are_refused(
    database: Database, store_run: StoreRun
) -> None:
    stored = await store_run(stages=("extract", "embed"))
    job_id = stored.job_ids[0]
    async with database.connection() as connection:
        with pytest.raises(Refused, match=r"'extract' of job .* comes before 'embed'"):
            await edits.redo(connection, job_id, "embed")
        assert await stages.claim(connection, job_id, "extract", "worker", 60) is not None
        with pytest.raises(Refused, match="is running"):
            await edits.give(connection, job_id, "extract", {})


async def test_a_chain_that_ended_early_goes_on_with_the_stages_it_lacked(
    database: Database, store_run: StoreRun
) -> None:
    stored = await store_run(stages=("extract",))
    job_id = stored.job_ids[0]
    whole = ("extract", "embed", "score")
    async with database.connection() as connection:
        await carry_out(connection, job_id, "extract")

        assert await edits.lengthen(connection, job_id, whole) == ["embed", "score"]
        assert await edits.lengthen(connection, job_id, whole) == []

        await carry_out(connection, job_id, "embed", "score")
        assert await status(connection, job_id) == JobStatus.SUCCEEDED


async def test_a_chain_that_has_not_ended_takes_new_stages_behind_its_last_one(
    database: Database, store_run: StoreRun
) -> None:
    stored = await store_run(stages=("extract",))
    job_id = stored.job_ids[0]
    async with database.connection() as connection:
        assert await edits.lengthen(connection, job_id, ("extract", "embed")) == ["embed"]

        assert await stages.claim(connection, job_id, "embed", "worker", 60) is None
        await carry_out(connection, job_id, "extract", "embed")
