"""The reaper releases stages, sends lost messages again, and never sends too many."""

import asyncio
import datetime
from collections.abc import Awaitable, Callable, Iterator

import pytest
import redis

from stack.ports import free_port
from stack.valkey import ValkeyServer
from store.database import Database
from store.runs import pending_chains, stages
from store.runs.runs import StoredRun
from workers.app import KEY_PREFIX, make_app
from workers.messages import send
from workers.reaper import Reaper

StoreRun = Callable[..., Awaitable[StoredRun]]


def make_reaper(database: Database, broker_url: str, *, grace_s: float = 0.1) -> Reaper:
    return Reaper(make_app(broker_url), database, every_s=0.02, lease_s=0, grace_s=grace_s, max_interruptions=3)


@pytest.fixture
def client(valkey: ValkeyServer) -> Iterator["redis.Redis"]:
    """The broker, empty."""
    with redis.Redis.from_url(valkey.url) as client:
        client.flushdb()
        yield client


def waiting(client: "redis.Redis", queue: str = "extract") -> int:
    return int(client.llen(f"{KEY_PREFIX}{queue}"))


async def test_a_message_that_was_lost_is_sent_again_once(
    database: Database, store_run: StoreRun, valkey: ValkeyServer, client: "redis.Redis"
) -> None:
    await store_run("316", "319")
    reaper = make_reaper(database, valkey.url)
    await asyncio.sleep(0.12)

    sent = [await reaper.sweep() for _ in range(20)]

    assert (sum(sent), waiting(client)) == (2, 2)


async def test_while_the_queue_holds_every_message_nothing_is_sent(
    database: Database, store_run: StoreRun, valkey: ValkeyServer, client: "redis.Redis"
) -> None:
    stored = await store_run("316", "319")
    reaper = make_reaper(database, valkey.url)
    async with database.connection() as connection:
        send(make_app(valkey.url), await pending_chains.pending_chains(connection, stored.job_ids))
    await asyncio.sleep(0.12)

    assert [await reaper.sweep() for _ in range(5)] == [0] * 5
    assert waiting(client) == 2


async def test_the_stage_of_a_silent_worker_is_released_and_sent(
    database: Database, store_run: StoreRun, valkey: ValkeyServer, client: "redis.Redis"
) -> None:
    stored = await store_run()
    async with database.connection() as connection:
        await stages.claim(connection, stored.job_ids[0], "extract", "silent worker", 0)

    assert await make_reaper(database, valkey.url).sweep() == 1

    async with database.connection() as connection:
        again = await stages.claim(connection, stored.job_ids[0], "extract", "worker", 60)
    assert again is not None
    assert (again.attempt, again.fence, waiting(client)) == (2, 2, 1)


async def test_many_reapers_send_a_message_once(
    database: Database, store_run: StoreRun, valkey: ValkeyServer, client: "redis.Redis"
) -> None:
    await store_run(*map(str, range(300, 320)))
    reapers = [make_reaper(database, valkey.url) for _ in range(4)]
    await asyncio.sleep(0.12)

    sent = await asyncio.gather(*(reaper.sweep() for reaper in reapers))

    assert (sum(sent), waiting(client)) == (20, 20)


async def test_a_sweep_without_a_broker_is_repeated(
    database: Database, store_run: StoreRun, valkey: ValkeyServer, client: "redis.Redis"
) -> None:
    stored = await store_run()
    async with database.connection() as connection:
        await stages.claim(connection, stored.job_ids[0], "extract", "silent worker", 0)
    lost = asyncio.create_task(make_reaper(database, f"redis://127.0.0.1:{free_port()}/0").run())
    await asyncio.sleep(0.2)
    lost.cancel()

    assert await make_reaper(database, valkey.url).sweep() == 1
    assert waiting(client) == 1


async def test_work_that_waits_for_a_future_that_was_set_back_is_taken_up(
    database: Database, store_run: StoreRun, valkey: ValkeyServer, client: "redis.Redis"
) -> None:
    sent, held, retried = (await store_run("316", "319", "320")).job_ids
    async with database.connection() as connection:
        await stages.claim(connection, held, "extract", "silent worker", 6 * 3600)
        for job_id, column in ((sent, "enq_at"), (retried, "not_before")):
            await connection.execute(
                f"UPDATE stage_run SET {column} = now() + interval '6 hours' WHERE job_id = $1 AND stage = 'extract'",
                job_id,
            )

        # That of the silent worker; what was sent counts as sent now, and the retry waits for its time.
        assert await make_reaper(database, valkey.url).sweep() == 1

        now, *times = await connection.fetchrow(
            """
            SELECT now(), max(lease_until), max(enq_at), max(not_before) FROM stage_run WHERE status <> 'waiting'
            """
        )
    lease_until, enq_at, not_before = times
    assert lease_until is None
    assert enq_at <= now
    assert not_before - now < datetime.timedelta(seconds=61)
