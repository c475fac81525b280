"""Subscribers are notified of commits."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from schemas.statuses import JobStatus
from store.database import Connection
from store.runs import answer_pieces, jobs, stages
from store.runs.edits import CHANNEL, Changes, Subscription
from tests.store.conftest import StoreRun
from tests.store.scored import claimed

SOON_S = 20.0
"""Far longer than anything here takes."""

END = '{"run": 0, "job": null}'
LAST_WORD = f"NOTIFY {CHANNEL}, '{END}'"


@pytest.fixture
async def changes(database_url: str) -> AsyncIterator[Changes]:
    made = Changes(database_url)
    yield made
    await made.close()


async def listening(subscription: Subscription) -> None:
    """Wait for the notification of a new connection."""
    assert await subscription.next(SOON_S)


async def test_a_claim_a_commit_and_a_pause_are_notified_also_after_the_connection_was_lost(
    connection: Connection, changes: Changes, store_run: StoreRun
) -> None:
    (job_id,) = (await store_run()).job_ids
    async with changes.subscribe() as subscription:
        await listening(subscription)

        held = await claimed(connection, job_id)
        assert await subscription.next(SOON_S)
        await stages.commit(connection, held, inputs={}, output={"quote": "up at three"})
        assert await subscription.next(SOON_S)
        await jobs.hold(connection, JobStatus.PAUSED, "later", job_id=job_id)
        assert await subscription.next(SOON_S)
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'ragq changes' AND datname = current_database()"
        )
        await listening(subscription)
        await store_run()
        assert await subscription.next(SOON_S)


async def test_a_run_or_job_is_waited_for_alone(connection: Connection, changes: Changes, store_run: StoreRun) -> None:
    first, second = await store_run("316", "319"), await store_run()
    async with (
        changes.subscribe(run_id=first.run_id) as run,
        changes.subscribe(job_id=first.job_ids[1]) as job,
        changes.subscribe() as everything,
    ):
        for subscription in (run, job, everything):
            await listening(subscription)

        await claimed(connection, second.job_ids[0])
        assert await everything.next(SOON_S)
        await claimed(connection, first.job_ids[0])
        assert await run.next(SOON_S)
        await claimed(connection, first.job_ids[1])
        assert await job.next(SOON_S)

        assert [await run.next(SOON_S), await run.next(0)] == [True, False]
        assert [await everything.next(SOON_S), await everything.next(0)] == [True, False]


async def test_pieces_of_an_answer_wake_only_those_who_wait_for_them(connection: Connection, changes: Changes) -> None:
    async with (
        changes.subscribe() as without_answers,
        changes.subscribe(job_id=8, with_answers=True) as of_another,
        changes.subscribe(job_id=7, with_answers=True) as reader,
    ):
        for subscription in (without_answers, of_another, reader):
            await listening(subscription)

        await connection.execute(f"NOTIFY {answer_pieces.CHANNEL}, '7'")

        assert await reader.next(SOON_S)
        assert [await without_answers.next(0), await of_another.next(0)] == [False, False]


async def test_a_notification_holds_ids_alone_and_without_subscribers_there_is_none(
    database_url: str, connection: Connection, changes: Changes, store_run: StoreRun
) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    listener = await asyncpg.connect(database_url)
    await listener.add_listener(CHANNEL, lambda *event: heard.put_nowait(event[3]))
    await store_run()
    await connection.execute(LAST_WORD)
    assert await heard.get() == END

    async with changes.subscribe() as subscription:
        await listening(subscription)
        stored = await store_run("316", "319", "330")
        for job_id in stored.job_ids:
            await jobs.hold(connection, JobStatus.PAUSED, "never notified", job_id=job_id)
        await connection.execute(LAST_WORD)
        payloads = []
        while (payload := await heard.get()) != END:
            payloads.append(payload)
    await listener.close()

    of_run = f'{{"run" : {stored.run_id}, "job" : '
    assert payloads[0] == f"{of_run}null}}"
    assert sorted(payloads[1:]) == [f"{of_run}{job_id}}}" for job_id in stored.job_ids]
