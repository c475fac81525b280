"""Statements on a connection of their own, and those that wait for another."""

import asyncio
from typing import Any

import asyncpg
import pytest

from store.database import Connection

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
