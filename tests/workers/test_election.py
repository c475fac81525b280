"""One dispatcher at a time: whatever happens to it another follows, and it sends nothing any more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import redis

from store.database import Database
from tests.brokers import broker_of_its_own
from tests.embedded import ValkeyServer
from tests.store.conftest import StoreRun
from tests.tcp_proxy import proxied
from tests.workers.test_dispatcher import depth, dispatching, eventually
from workers.dispatcher import elected

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
