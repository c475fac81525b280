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


async def is_usable(connection: Connection) -> bool:
    """Whether this code can work with the tables: they have every migration that it has, and maybe later ones.

    Migrations only add what the version before does not read, so that versions may run side by side during an upgrade.
    """
    head = await asyncio.to_thread(_newest)
    found = await stored(connection)
    return found is not None and head is not None and found >= head


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
