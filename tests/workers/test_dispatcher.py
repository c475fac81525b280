"""The dispatcher keeps queues filled, one at a time; the reaper takes back what was lost, and never too much."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from store.database import Connection, Database
from store.runs import backlog, runs, stages
from store.runs.backlog import Flow, Unclaimed
from store.runs.runs import StoredRun
from tests.eventually import until
from tests.store.conftest import StoreRun, new_run
from tests.store.scored import BROKEN, claimed, committing, enroll, take
from tests.tcp_proxy import TcpProxy
from tests.workers.conftest import Broker, key
from workers.app import make_app
from workers.broker import FIRST, NORMAL
from workers.dispatcher import LONGEST_WAIT_SECONDS, Dispatcher, Reaper, elected, overdue
from workers.turns import LEAST_MESSAGES, MESSAGES_PER_THREAD, Depths

BROKER = "the broker"
#: Two seconds, and a few more on a machine that runs the other tests.
SOON_S = 6.0


@asynccontextmanager
async def dispatching(
    database: Database, url: str, *, cluster: str = BROKER, every_s: float = 0.1
) -> AsyncIterator[None]:
    reaper = Reaper(database, lease_s=0, grace_s=60, max_interruptions=3)
    dispatcher = Dispatcher(make_app(url), database, reaper, cluster=cluster, every_s=every_s)
    running = asyncio.create_task(dispatcher.run())
    try:
        yield
        if running.done():
            running.result()
    finally:
        running.cancel()


async def test_a_large_run_waits_in_the_database_and_the_broker_holds_a_window_that_a_question_passes(
    database: Database, connection: Connection, store_run: StoreRun, broker: Broker
) -> None:
    await enroll(connection, "extract", "embed", "assemble", concurrency=10, broker=BROKER)
    stored = await store_run(*map(str, range(200)))
    window = 10 * MESSAGES_PER_THREAD

    async with dispatching(database, broker.url):
        await broker.holds(window)
        await asyncio.sleep(0.5)
        assert broker.depth() == window
        assert await connection.fetchval("SELECT count(*) FROM job WHERE sent_at IS NULL") == 200 - window

        # The oldest come first, and those that workers take are replaced.
        first = {f"j{job_id}:extract:1" for job_id in stored.job_ids[:window]}
        taken = b" ".join(broker.client.rpop(key("extract"), window))
        assert {name for name in first if f'"{name}"'.encode() in taken} == first
        await broker.holds(window)

        await backlog.hasten(connection, [stored.job_ids[-1]])
        await broker.holds(1, FIRST)
        assert broker.depth() == window


async def test_a_slow_later_stage_stops_the_chains_that_lead_to_it(
    database: Database, store_run: StoreRun, broker: Broker
) -> None:
    broker.client.lpush(key("assemble"), *["{}"] * LEAST_MESSAGES)
    await store_run("316")
    await store_run("319", stages=("extract", "embed"))

    async with dispatching(database, broker.url):
        await broker.holds(1)
        await asyncio.sleep(0.4)
        assert broker.depth() == 1
        broker.client.delete(key("assemble"))
        await broker.holds(2)


async def test_what_is_submitted_is_sent_without_waiting_for_a_look(
    database: Database, store_run: StoreRun, broker: Broker
) -> None:
    async with dispatching(database, broker.url, every_s=600):
        for number in range(3):
            await store_run(str(number))
            await broker.holds(number + 1)


async def test_jobs_that_fail_wait_for_their_time_outside_the_backlog(
    database: Database, connection: Connection, job_id: int, broker: Broker
) -> None:
    await stages.fail(connection, await claimed(connection, job_id), BROKEN, inputs={}, retry_in_s=8)

    async def is_empty() -> bool:
        return not await backlog.flows(connection)

    async with dispatching(database, broker.url):
        await until(is_empty, timeout_s=7)
        assert broker.depth() == 0
        await broker.holds(1)
    assert await stages.claim(connection, job_id, "extract", "worker", 60) is not None


async def test_no_more_jobs_start_than_wait_for_a_time_already(
    database: Database, connection: Connection, store_run: StoreRun, broker: Broker
) -> None:
    stored = await store_run(*map(str, range(3 * LEAST_MESSAGES)))
    aside = stored.job_ids[: LEAST_MESSAGES - 2]
    await backlog.mark_sent(connection, dict.fromkeys(aside, datetime.now(UTC) + timedelta(minutes=5)))
    async with dispatching(database, broker.url):
        await broker.holds(2)
        await asyncio.sleep(0.5)
        assert broker.depth() == 2
        # One of them is let in early.
        await backlog.hasten(connection, aside[:1])
        await broker.holds(1, FIRST)


async def test_two_dispatchers_send_each_job_once(database: Database, broker: Broker, other: Broker) -> None:
    """Of two clusters of workers, each with a broker of its own, on one database."""
    async with dispatching(database, broker.url), dispatching(database, other.url, cluster="another"):
        await database.ask(runs.store, new_run(range(24)))
        await until(lambda: broker.depth() + other.depth() == 24)
        await asyncio.sleep(0.3)
        assert broker.depth() + other.depth() == 24


async def test_the_lock_is_held_once_and_a_session_that_is_silent_loses_it(database: Database) -> None:
    async with elected(database, "a") as held:
        assert held is not None
        async with elected(database, "a") as refused, elected(database, "b") as allowed:
            assert (refused, allowed is not None) == (None, True)
        await until(held.is_closed, timeout_s=SOON_S)
        async with elected(database, "a") as taken:
            assert taken is not None


async def test_a_dispatcher_that_is_cut_off_from_the_database_sends_no_more_and_has_a_successor(
    database: Database, store_run: StoreRun, broker: Broker, other: Broker
) -> None:
    with TcpProxy(database.url) as proxy:
        async with Database(proxy.url, pool_size=2) as cut_off, dispatching(cut_off, broker.url):
            await store_run("0")
            await broker.holds(1)
            async with dispatching(database, other.url):
                proxy.cut()
                await store_run("1")
                began = asyncio.get_running_loop().time()
                await other.holds(1)
                assert asyncio.get_running_loop().time() - began < SOON_S

                proxy.mend()
                await store_run("2", "3")
                await other.holds(3)
                assert broker.depth() == 1


@pytest.mark.parametrize("is_hanging", [True, False])
async def test_a_dispatcher_that_is_cut_off_from_the_broker_makes_way(
    database: Database, store_run: StoreRun, broker: Broker, other: Broker, is_hanging: bool
) -> None:
    with TcpProxy(broker.url) as proxy:
        away = proxy.url if is_hanging else "redis://127.0.0.1:1/0"
        async with dispatching(database, away):
            if is_hanging:
                await store_run("0")
                await broker.holds(1)
                proxy.cut()
            async with dispatching(database, other.url):
                await store_run("1")
                await other.holds(1)
        proxy.mend()


def make_reaper(database: Database, *, lease_s: float = 0, grace_s: float = 0.1) -> Reaper:
    return Reaper(database, lease_s=lease_s, grace_s=grace_s, max_interruptions=3)


def holding(count: int = 0) -> Depths:
    """A broker with so many messages for `extract`."""
    return Depths({("extract", NORMAL): count}, {"extract": count})


def unclaimed(job_id: int = 1, *, waited_s: float, resent: int = 0, is_due_now: bool = False) -> Unclaimed:
    return Unclaimed(job_id, 1, "extract", resent, is_due_now, waited_s)


async def waiting(connection: Connection, stored: StoredRun) -> list[int]:
    """The jobs of a run that are in the backlog."""
    found = await backlog.oldest(connection, {}, {Flow(stored.run_id, False): 100})
    return found.get(Flow(stored.run_id, False), [])


def test_a_message_is_overdue_after_waits_that_double() -> None:
    for resent, after_s in enumerate((5, 10, 20, 40)):
        for waited_s, expected in ((after_s - 0.1, []), (after_s + 0.1, [1])):
            found = [unclaimed(waited_s=waited_s, resent=resent), unclaimed(2, waited_s=0)]
            assert overdue(found, holding(1), grace_s=5) == expected


def test_an_empty_queue_shortens_the_wait_a_covering_one_suspends_it_and_the_oldest_comes_first() -> None:
    lost, fresh = unclaimed(1, waited_s=6, resent=3), unclaimed(2, waited_s=1)
    now, longest = unclaimed(3, waited_s=0.1, is_due_now=True), unclaimed(4, waited_s=LONGEST_WAIT_SECONDS + 1)

    assert overdue([lost, fresh], holding(0), grace_s=5) == [1]
    assert overdue([lost, fresh], holding(1), grace_s=5) == []
    assert overdue([unclaimed(waited_s=6)], holding(1), grace_s=5) == []
    assert overdue([longest], holding(1), grace_s=5) == [4]
    # What waited for its time is due at once.
    assert overdue([now, lost], holding(), grace_s=5) == [1, 3]
    assert overdue([now, lost], holding(1), grace_s=5) == [3]


async def test_a_lost_message_puts_its_job_back_once_also_one_that_follows_a_stored_stage(
    database: Database, connection: Connection, store_run: StoreRun
) -> None:
    stored = await store_run("316", "319")
    await backlog.mark_sent(connection, dict.fromkeys(stored.job_ids))
    await take(connection, stored.job_ids[1], "extract", committing({}))
    assert await make_reaper(database, grace_s=60).take_back(connection, holding()) == []
    await asyncio.sleep(0.12)
    reaper = make_reaper(database)

    assert [await reaper.take_back(connection, holding()) for _ in range(3)] == [stored.job_ids, [], []]
    assert await waiting(connection, stored) == stored.job_ids


async def test_after_an_outage_leases_are_taken_back_when_their_workers_could_renew_them(
    database: Database, connection: Connection, one_run: StoredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    await backlog.mark_sent(connection, dict.fromkeys(one_run.job_ids))
    await stages.claim(connection, one_run.job_ids[0], "extract", "silent worker", 0)
    for reachable_for_s, taken_back in ((5.9, []), (6.0, one_run.job_ids)):
        monkeypatch.setattr(Database, "reachable_for_s", reachable_for_s)
        await make_reaper(database, lease_s=6).release(connection)
        assert await waiting(connection, one_run) == taken_back


async def test_work_that_waits_for_a_future_that_was_set_back_is_taken_up(
    database: Database, connection: Connection, store_run: StoreRun
) -> None:
    later = datetime.now(UTC) + timedelta(hours=6)
    stored = await store_run("316", "319", "320")
    sent, held, retried = stored.job_ids
    await backlog.mark_sent(connection, {sent: later, held: None, retried: later})
    await stages.claim(connection, held, "extract", "silent worker", 6 * 3600)
    for job_id, column in ((sent, "enq_at"), (retried, "not_before")):
        update = f"UPDATE stage_run SET {column} = $2 WHERE job_id = $1 AND stage = 'extract'"
        await connection.execute(update, job_id, later)

    await make_reaper(database).release(connection)

    # That of the silent worker; what was sent counts as sent now, and the retry waits for its time.
    assert await waiting(connection, stored) == [held]
    now, lease_until, enq_at, not_before, sent_at = await connection.fetchrow(
        """
        SELECT now(), max(lease_until), max(enq_at), max(not_before), (SELECT max(sent_at) FROM job) FROM stage_run
        """
    )
    assert lease_until is None
    assert enq_at <= now
    assert max(not_before, sent_at) - now < timedelta(seconds=61)
