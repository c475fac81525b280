"""Connections that break, hang and come back."""

import asyncio
import math
import os
import signal

import pytest

from store.database import Connection, Database, DatabaseUnreachableError

TERMINATE = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'victim'"


async def one(connection: Connection) -> int:
    found: int = await connection.fetchval("SELECT 1")
    return found


async def test_no_connection_that_was_closed_is_handed_out(database_url: str, database: Database) -> None:
    victim = Database(database_url, pool_size=4, application_name="victim")
    await asyncio.gather(*(victim.steadily(one) for _ in range(4)))
    async with database.connection() as connection:
        assert await connection.fetchval(TERMINATE) > 1
    await asyncio.sleep(0.1)

    for _ in range(4):
        async with victim.connection() as connection:
            assert await one(connection) == 1

    await victim.close()


async def test_a_connection_whose_server_hangs_leaves_the_pool(database: Database) -> None:
    async with database.connection() as connection:
        backend = await connection.fetchval("SELECT pg_backend_pid()")
    os.kill(backend, signal.SIGSTOP)
    try:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2), database.connection() as connection:
                await one(connection)
        async with asyncio.timeout(5), database.connection() as connection:
            assert await one(connection) == 1
    finally:
        os.kill(backend, signal.SIGCONT)


async def test_patience_with_a_database_that_is_away_has_an_end() -> None:
    nowhere = Database("postgresql://ragq@127.0.0.1:1/ragq")
    assert nowhere.reachable_for_s == math.inf

    with pytest.raises(DatabaseUnreachableError, match="did not answer"):
        await nowhere.steadily(one, patience_s=0.2)

    assert nowhere.reachable_for_s < 1

    await nowhere.close()
