"""Workers purge once a day, whichever of them, and what they did is kept."""

import asyncio
from datetime import timedelta

import pytest

from schemas.settings.process import Retention
from services.purge import candidates
from store.database import Connection, Database
from store.runs import job_control, purging, scheduled_purges, stored_runs, tombstones
from store.runs.purging import Criteria
from tests.store.runs.test_deletions import finished_run
from tests.store.runs.test_purging import a_finished_run, age
from workers.purge_schedule import PurgeSchedule

NINETY = Retention(runs=timedelta(days=90), texts=None)
LATER = (
    "UPDATE scheduled_purge SET began_at = began_at - interval '25 hours', ended_at = ended_at - interval '25 hours'"
)


async def an_old_run(connection: Connection, days: int = 91) -> int:
    run_id = await a_finished_run(connection)
    await age(connection, run_id, days)
    return run_id


async def purge(database: Database, retention: Retention = NINETY) -> None:
    async with database.session() as connection:
        await PurgeSchedule(database, retention).purge_if_due(connection)


async def test_old_runs_go_once_a_day_and_young_ones_stay(database: Database) -> None:
    async with database.connection() as connection:
        old, young = await an_old_run(connection), await an_old_run(connection, 89)
        await purge(database)
        assert [await stored_runs.exists(connection, run_id=run_id) for run_id in (old, young)] == [False, True]
        ((stone,), flaws) = await tombstones.audit(connection, old)
        assert (stone.reason, flaws) == ("older than 90 d; by schedule", [])

        again = await an_old_run(connection)
        await purge(database)
        assert await stored_runs.exists(connection, run_id=again)
        await connection.execute(LATER)
        await purge(database)

        assert not await stored_runs.exists(connection, run_id=again)
        last = await scheduled_purges.last(connection)
        assert last is not None
        assert (last.runs, last.jobs, last.error_type, last.ended_at is not None) == (1, 1, None, True)


async def test_what_led_to_results_goes_before_the_results(database: Database) -> None:
    async with database.connection() as connection:
        shown, old = await finished_run(connection), await an_old_run(connection, 400)
        await age(connection, shown.run_id, 31)

        await purge(database, Retention(runs=timedelta(days=365), texts=timedelta(days=30)))

        assert not await stored_runs.exists(connection, run_id=old)
        assert await stored_runs.exists(connection, run_id=shown.run_id)
        ((stone,), _) = await tombstones.audit(connection, shown.run_id)
        assert stone.what == tombstones.OUTPUTS


async def test_many_workers_carry_out_one_purge(database: Database) -> None:
    async with database.connection() as connection:
        for _ in range(5):
            await an_old_run(connection)
    await asyncio.gather(*(purge(database) for _ in range(3)))

    async with database.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM scheduled_purge") == 1
        assert await connection.fetchval("SELECT count(*) FROM tombstone") == 5


async def test_a_purge_that_was_broken_off_is_continued_the_same_day(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with database.connection() as connection:
        run_ids = [await an_old_run(connection) for _ in range(2)]
    whole = purging.carry_out

    async def broken_off(connection: Connection, stone: tombstones.Tombstone) -> purging.Purged:
        if stone.run_id == run_ids[1]:
            raise ConnectionResetError
        return await whole(connection, stone)

    monkeypatch.setattr(purging, "carry_out", broken_off)
    with pytest.raises(ConnectionResetError):
        await purge(database)
    monkeypatch.setattr(purging, "carry_out", whole)
    await purge(database)

    async with database.connection() as connection:
        last = await scheduled_purges.last(connection)
        assert last is not None
        assert (last.runs, await connection.fetchval("SELECT count(*) FROM scheduled_purge")) == (2, 1)
        assert await tombstones.unfinished(connection) == []


async def test_a_run_that_is_active_again_is_named_and_the_day_is_done(database: Database) -> None:
    old = Criteria(older_than=timedelta(days=90))
    async with database.connection() as connection:
        shown = await finished_run(connection)
        await age(connection, shown.run_id, 91)
        (found,) = await candidates(connection, old)
        await purging.begin(connection, found, old)
        await job_control.retry(connection, job_id=shown.failed)

        await purge(database)

        last = await scheduled_purges.last(connection)
        assert last is not None
        assert (last.error_type, last.ended_at is not None) == ("RunActiveError", True)


async def test_without_an_age_nothing_is_looked_at(database: Database) -> None:
    await asyncio.wait_for(PurgeSchedule(database, Retention(None, None)).run(), timeout=5)


async def test_a_schedule_looks_until_it_is_cancelled(database: Database) -> None:
    async with database.connection() as connection:
        old = await an_old_run(connection)
        looking = asyncio.create_task(PurgeSchedule(database, NINETY, look_s=0.05).run())
        async with asyncio.timeout(60):
            while await stored_runs.exists(connection, run_id=old):  # noqa: ASYNC110  (what it waits for is in the database)
                await asyncio.sleep(0.02)
        looking.cancel()
