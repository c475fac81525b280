"""Statements on a connection of their own."""

from typing import Any

import asyncpg


async def execute(url: str, statements: str, *arguments: Any) -> None:
    """Run statements, or one with arguments, without the pool of ragq."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statements, *arguments)
    finally:
        await connection.close()
