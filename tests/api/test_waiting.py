"""A request waits until its job finishes."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from api import event_streams
from schemas.statuses import JobStatus
from store.database import Database
from store.runs import jobs, stages
from store.runs.edits import Changes
from tests.store.conftest import StoreRun
from tests.store.scored import claimed


async def stays() -> bool:
    return False


wait_until_idle = partial(event_streams.wait_until_idle, has_left=stays)


@pytest.fixture
async def changes(database_url: str) -> AsyncIterator[Changes]:
    made = Changes(database_url)
    yield made
    await made.close()


async def test_the_wait_ends_with_the_job(
    database: Database, changes: Changes, store_run: StoreRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.event_streams.LONGEST_SLEEP_SECONDS", 60.0)
    job_id = (await store_run(stages=("extract",))).job_ids[0]
    waits = asyncio.create_task(wait_until_idle(database, changes, job_id))
    async with changes.subscribe() as subscription, database.connection() as connection:
        await subscription.next(20)
        claim = await claimed(connection, job_id)
        await subscription.next(20)
        assert not waits.done()

        await stages.commit(connection, claim, inputs={}, output={})

        assert await asyncio.wait_for(waits, 20) is JobStatus.SUCCEEDED


async def test_no_connection_is_held_while_it_waits(database_url: str, changes: Changes, store_run: StoreRun) -> None:
    stored = await store_run(*(str(number) for number in range(300, 308)))
    narrow = Database(database_url, pool_size=1)
    waits = [asyncio.create_task(wait_until_idle(narrow, changes, job)) for job in stored.job_ids]
    async with changes.subscribe() as subscription:
        await subscription.next(20)
    async with narrow.connection() as connection:
        await jobs.hold(connection, JobStatus.PAUSED, None, run_id=stored.run_id)

    assert await asyncio.gather(*waits) == [JobStatus.PAUSED] * 8
    await narrow.close()


async def test_a_change_without_a_notification_is_found(
    database: Database, database_url: str, store_run: StoreRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.event_streams.LONGEST_SLEEP_SECONDS", 0.05)
    job_id = (await store_run()).job_ids[0]
    deaf = Changes(database_url.rsplit("/", 1)[0] + "/nowhere")
    waits = asyncio.create_task(wait_until_idle(database, deaf, job_id))
    await asyncio.sleep(0.1)
    async with database.connection() as connection:
        await jobs.hold(connection, JobStatus.CANCELLED, None, job_id=job_id)

    assert await asyncio.wait_for(waits, 20) is JobStatus.CANCELLED
    await deaf.close()


async def test_a_deleted_job_is_not_waited_for_and_one_whose_client_leaves_continues(
    database: Database, changes: Changes, store_run: StoreRun
) -> None:
    assert await wait_until_idle(database, changes, 999) is None
    job_id = (await store_run()).job_ids[0]

    async def has_left() -> bool:
        return True

    left = await event_streams.wait_until_idle(database, changes, job_id, has_left=has_left)
    assert left is JobStatus.WAITING
