"""Statements on a connection of their own, and those that wait for another."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import asyncpg
import pytest

from store.database import Connection, Database

First = TypeVar("First")
Second = TypeVar("Second")

#: Leaves a database as before its first migration.
EMPTIED = "DROP SCHEMA public CASCADE; CREATE SCHEMA public"


async def execute(url: str, statements: str, *arguments: Any) -> None:
    """Run statements, or one with arguments, without the pool of ragq."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statements, *arguments)
    finally:
        await connection.close()


async def until_blocked(connection: Connection, other: Connection) -> None:
    """Wait until the statement of another connection waits for a lock."""
    for _ in range(3_000):
        if await connection.fetchval("SELECT pg_blocking_pids($1)", other.get_server_pid()):
            return
        await asyncio.sleep(0.01)
    pytest.fail("The connection waits for no lock.")


async def one_waits(
    database: Database,
    first: Callable[[Connection], Awaitable[First]],
    second: Callable[[Connection], Coroutine[Any, Any, Second]],
) -> tuple[First, Second]:
    """Call both, the second one while the transaction of the first is open, which it waits for."""
    async with database.connection() as one, database.connection() as other, database.connection() as third:
        async with one.transaction():
            done = await first(one)
            waiting = asyncio.create_task(second(other))
            await until_blocked(third, other)
        return done, await waiting
