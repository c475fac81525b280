"""Which revision a database has, and which one the code was written for."""

import asyncio
from functools import cache
from importlib.resources import files

import asyncpg
from alembic.script import ScriptDirectory

from store.database import Connection


async def is_newest(connection: Connection) -> bool:
    """Whether every migration that this code has was applied, and no other. The first call loads them all."""
    head = await asyncio.to_thread(_newest)
    return await stored(connection) == head


async def stored(connection: Connection) -> str | None:
    """The revision of a database; None before the first migration."""
    try:
        found: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
    except asyncpg.UndefinedTableError:
        return None
    return found


@cache
def _newest() -> str | None:
    return ScriptDirectory(str(files("migrations"))).get_current_head()
