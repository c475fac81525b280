"""Which revision a database has, and which one the code was written for."""

import asyncio
from functools import cache
from importlib.resources import files

import asyncpg
from alembic.script import ScriptDirectory

from schemas.errors import StackError
from store.database import Connection


async def is_newest(connection: Connection) -> bool:
    """Whether every migration that this code has was applied, and no other. The first call loads them all."""
    head = await asyncio.to_thread(newest)
    try:
        return await stored(connection) == head
    except StackError:
        return False


def is_known(found: str) -> bool:
    """Whether this code has the migration of a revision."""
    return any(one.revision == found for one in _scripts().walk_revisions())


async def stored(connection: Connection) -> str | None:
    """The revision of a database; None before the first migration. Raises StackError for another program's tables."""
    try:
        found: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
    except asyncpg.UndefinedTableError:
        return None
    except asyncpg.UndefinedColumnError:
        raise StackError(
            "The database has tables of another program, and nothing was changed: its `alembic_version` is not "
            "ragq's. Name an empty database by DATABASE_URL."
        ) from None
    return found


@cache
def newest() -> str | None:
    """The revision that this code was written for."""
    return _scripts().get_current_head()


def _scripts() -> ScriptDirectory:
    return ScriptDirectory(str(files("migrations")))
