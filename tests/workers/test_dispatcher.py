"""The dispatcher keeps the broker's queues filled, and no more than filled; one at a time, with a successor."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
import redis

from schemas.statuses import JobStatus
from store.database import Database
from store.runs import backlog, jobs, runs, stages
from tests.brokers import broker_of_its_own
from tests.embedded import ValkeyServer
from tests.store.conftest import StoreRun, new_run
from tests.store.enrolled import enroll
from tests.store.scored import BROKEN, claimed
from tests.tcp_proxy import proxied
from workers.app import KEY_PREFIX, make_app
from workers.broker import FIRST, NORMAL, list_of
from workers.dispatcher import Dispatcher, elected
from workers.reaper import Reaper
from workers.turns import LEAST_MESSAGES, MESSAGES_PER_THREAD

BROKER = "the broker"


@pytest.fixture
def client(valkey: ValkeyServer) -> Iterator["redis.Redis"]:
    """The broker, empty."""
    with redis.Redis.from_url(valkey.url) as client:
        client.flushdb()
        yield client


def make_dispatcher(
    database: Database, broker_url: str, *, cluster: str = BROKER, grace_s: float = 60, every_s: float = 0.1
) -> Dispatcher:
    reaper = Reaper(database, lease_s=0, grace_s=grace_s, max_interruptions=3)
    return Dispatcher(make_app(broker_url), database, reaper, cluster=cluster, every_s=every_s)


@asynccontextmanager
async def dispatching(database: Database, broker_url: str, **options: object) -> AsyncIterator[None]:
    """A dispatcher that runs for the block."""
    running = asyncio.create_task(make_dispatcher(database, broker_url, **options).run())  # type: ignore[arg-type]
    try:
        yield
        if running.done():
            running.result()
    finally:
        running.cancel()


def depth(client: "redis.Redis", queue: str = "extract", priority: int = NORMAL) -> int:
    return int(client.llen(f"{KEY_PREFIX}{list_of(queue, priority)}"))


async def eventually(is_so: Callable[[], object], *, timeout_s: float = 60) -> None:
    async with asyncio.timeout(timeout_s):
        while not is_so():  # noqa: ASYNC110  (what it waits for is in the broker)
            await asyncio.sleep(0.01)


async def test_a_large_run_waits_in_the_database_and_the_broker_holds_a_window(
    database: Database, store_run: StoreRun, valkey: ValkeyServer, client: "redis.Redis"
) -> None:
    async with database.connection() as connection:
        await enroll(connection, "extract", "embed", "assemble", concurrency=10, broker=BROKER)
    stored = await store_run(*map(str, range(200)))
    window = 10 * MESSAGES_PER_THREAD

    async with dispatching(database, valkey.url):
        await eventually(lambda: depth(client) == window)
        await asyncio.sleep(0.5)
        assert depth(client) == window
        async with database.connection() as connection:
            assert await connection.fetchval("SELECT count(*) FROM job WHERE sent_at IS NULL") == 200 - window

        # The oldest come first, and those that workers take are replaced.
        first = {f"j{job_id}:extract:1" for job_id in stored.job_ids[:window]}
        taken = b" ".join(client.rpop(f"{KEY_PREFIX}{list_of('extract', NORMAL)}", window))  # type: ignore[arg-type]
        assert {name for name in first if f'"{name}"'.encode() in taken} == first
        await eventually(lambda: depth(client) == window)


async def test_a_slow_later_stage_stops_the_chains_that_lead_to_it(
    database: Database, store_run: StoreRun, valkey: ValkeyServer, client: "redis.Redis"
) -> None:
    client.lpush(f"{KEY_PREFIX}{list_of('assemble', NORMAL)}", *["{}"] * LEAST_MESSAGES)
    await store_run("316")
    await store_run("319", stages=("extract", "embed"))

    async with dispatching(database, valkey.url):
        await eventually(lambda: depth(client) == 1)
        await asyncio.sleep(0.4)
        assert depth(client) == 1
        client.delete(f"{KEY_PREFIX}{list_of('assemble', NORMAL)}")
        await eventually(lambda: depth(client) == 2)


async def test_a_question_passes_a_full_window(
    database: Database, store_run: StoreRun, valkey: ValkeyServer, client: "redis.Redis"
) -> None:
    stored = await store_run(*map(str, range(100)))
    async with dispatching(database, valkey.url):
        await eventually(lambda: depth(client) == LEAST_MESSAGES)

        async with database.connection() as connection:
            await backlog.hasten(connection, [stored.job_ids[-1]])

        await eventually(lambda: depth(client, priority=FIRST) == 1)
        assert depth(client) == LEAST_MESSAGES


async def test_what_is_submitted_is_sent_without_waiting_for_a_look(
    database: Database, store_run: StoreRun, valkey: ValkeyServer, client: "redis.Redis"
) -> None:
    """Several in turn: by a look every 0.4 s they would take longer together."""
    async with dispatching(database, valkey.url, every_s=600):
        await store_run("0")
        await eventually(lambda: depth(client) == 1)
        loop = asyncio.get_running_loop()
        began = loop.time()
        for number in range(1, 11):
            await store_run(str(number))
            await eventually(lambda: depth(client) == number + 1)  # noqa: B023  (called before the loop continues)
        assert loop.time() - began < 3


async def test_jobs_that_fail_wait_for_their_time_outside_the_backlog(
    database: Database, store_run: StoreRun, valkey: ValkeyServer, client: "redis.Redis"
) -> None:
    stored = await store_run()
    job_id = stored.job_ids[0]
    async with database.connection() as connection:
        claim = await claimed(connection, job_id, "extract")
        await stages.fail(connection, claim, BROKEN, inputs={}, retry_in_s=1.5)

        async with dispatching(database, valkey.url):
            for _ in range(50):
                if not await backlog.flows(connection):
                    break
                await asyncio.sleep(0.02)
            assert await backlog.flows(connection) == {}
            assert depth(client) == 0
            await eventually(lambda: depth(client) == 1)
        assert await stages.claim(connection, job_id, "extract", "worker", 60) is not None


async def test_no_more_jobs_start_than_wait_for_a_time_already(
    database: Database, store_run: StoreRun, valkey: ValkeyServer, client: "redis.Redis"
) -> None:
    stored = await store_run(*map(str, range(3 * LEAST_MESSAGES)))
    later = datetime.now(UTC) + timedelta(minutes=5)
    async with database.connection() as connection:
        aside = stored.job_ids[: LEAST_MESSAGES - 2]
        await backlog.mark_sent(connection, dict.fromkeys(aside, later))
        async with dispatching(database, valkey.url):
            await eventually(lambda: depth(client) == 2)
            await asyncio.sleep(0.5)
            assert depth(client) == 2
            # One of them is let in early.
            await backlog.hasten(connection, aside[:1])
            await eventually(lambda: depth(client, priority=FIRST) == 1)


async def test_two_dispatchers_send_each_job_once(
    database: Database, valkey: ValkeyServer, client: "redis.Redis"
) -> None:
    """Of two clusters of workers, each with a broker of its own, on one database."""
    with broker_of_its_own(valkey) as other_url, redis.Redis.from_url(other_url) as other:
        async with dispatching(database, valkey.url), dispatching(database, other_url, cluster="another"):
            async with database.connection() as connection:
                await runs.store(connection, new_run(tuple(map(str, range(24)))))
            await eventually(lambda: depth(client) + depth(other) == 24)
            await asyncio.sleep(0.3)
            assert depth(client) + depth(other) == 24


async def test_while_a_question_runs_a_batch_goes_on_at_a_part_of_its_pace(
    database: Database, store_run: StoreRun, valkey: ValkeyServer, client: "redis.Redis"
) -> None:
    stored = await store_run(*map(str, range(1000)))

    async def taken_in(seconds: float) -> int:
        """Messages that a quick worker takes."""
        end = asyncio.get_running_loop().time() + seconds
        count = 0
        while asyncio.get_running_loop().time() < end:
            count += len(client.lpop(f"{KEY_PREFIX}{list_of('extract', NORMAL)}", 4) or ())
            await asyncio.sleep(0.02)
        return count

    async with dispatching(database, valkey.url):
        await eventually(lambda: depth(client) == LEAST_MESSAGES)
        alone = await taken_in(1.5)
        async with database.connection() as connection:
            await backlog.hasten(connection, [stored.job_ids[-1]])
            await eventually(lambda: depth(client, priority=FIRST) == 1)
            await taken_in(0.3)
            beside = await taken_in(1.5)
            assert 0 < beside < 0.6 * alone

            await jobs.hold(connection, JobStatus.CANCELLED, None, job_id=stored.job_ids[-1])
            await taken_in(0.5)
            assert await taken_in(1.5) > 1.3 * beside


#: Two seconds, and a few more on a machine that runs the other tests.
SOON_S = 6.0


@asynccontextmanager
async def brokers(valkey: ValkeyServer) -> AsyncIterator[tuple[str, "redis.Redis", str, "redis.Redis"]]:
    """Two empty databases of the broker, so that one can be told from the other by what they hold."""
    with (
        broker_of_its_own(valkey) as one,
        broker_of_its_own(valkey) as another,
        redis.Redis.from_url(one) as first,
        redis.Redis.from_url(another) as second,
    ):
        yield one, first, another, second


async def test_the_lock_is_held_once_and_free_after_its_session(database: Database) -> None:
    async with elected(database, "a") as held:
        assert held is not None
        async with elected(database, "a") as refused, elected(database, "b") as allowed:
            assert (refused, allowed is not None) == (None, True)
        held.terminate()
        for _ in range(100):
            async with elected(database, "a") as taken:
                if taken is not None:
                    break
            await asyncio.sleep(0.02)
        assert taken is not None


async def test_a_session_that_is_silent_loses_the_lock(database: Database) -> None:
    async with elected(database, "a") as held:
        assert held is not None
        async with asyncio.timeout(SOON_S):
            while not held.is_closed():  # noqa: ASYNC110  (the server ends it)
                await asyncio.sleep(0.05)
        async with elected(database, "a") as taken:
            assert taken is not None


async def test_a_dispatcher_that_is_cut_off_from_the_database_sends_no_more_and_has_a_successor(
    database: Database, store_run: StoreRun, valkey: ValkeyServer
) -> None:
    async with brokers(valkey) as (url, client, other_url, other), proxied(database.url) as proxy:
        cut_off = Database(proxy.url, pool_size=2)
        async with dispatching(cut_off, url):
            await store_run("0")
            await eventually(lambda: depth(client) == 1)
            async with dispatching(database, other_url):
                proxy.cut()
                await store_run("1")
                began = asyncio.get_running_loop().time()
                await eventually(lambda: depth(other) == 1)
                assert asyncio.get_running_loop().time() - began < SOON_S

                proxy.mend()
                await store_run("2", "3")
                await eventually(lambda: depth(other) == 3)
                assert depth(client) == 1
        await cut_off.close()


@pytest.mark.parametrize("is_hanging", [True, False])
async def test_a_dispatcher_that_is_cut_off_from_the_broker_makes_way(
    database: Database, store_run: StoreRun, valkey: ValkeyServer, is_hanging: bool
) -> None:
    async with brokers(valkey) as (url, client, other_url, other), proxied(url) as proxy:
        away = proxy.url if is_hanging else "redis://127.0.0.1:1/0"
        async with dispatching(database, away):
            if is_hanging:
                await store_run("0")
                await eventually(lambda: depth(client) == 1)
                proxy.cut()
            async with dispatching(database, other_url):
                await store_run("1")
                await eventually(lambda: depth(other) == 1)
        proxy.mend()
