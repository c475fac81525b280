"""Everything that is stored, written to a file and restored from one."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from schemas.errors import StackError
from stack import postgres
from stack.connections import connections
from store import migrate
from store.database import Connection, Database
from store.runs import runs, workers

Result = TypeVar("Result")

_WORKERS_SEEN_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Backup:
    """A file with everything that is stored."""

    file: str
    bytes: int
    revision: str | None
    """Of the tables."""
    runs: int


def back_up(environment: Mapping[str, str], path: Path) -> Backup:
    """Write the database to a new file of mode 0600. Workers may go on meanwhile."""
    url = connections(environment).database_url
    found, runs = asyncio.run(_with_connection(url, _content))
    size = postgres.dump(url, path)
    return Backup(file=str(path), bytes=size, revision=found, runs=runs)


def restore(environment: Mapping[str, str], path: Path, *, replace: bool) -> Backup:
    """Fill the database from a file, bring it up to date, and return what it holds then.

    Raises StackError for a file that is no backup, damaged or of an unknown version, while workers run, and when runs
    are stored already and not to be replaced; nothing is changed then.
    """
    url = connections(environment).database_url
    written = postgres.revision_in(path)
    if not migrate.is_known_revision(written):
        raise StackError(
            f"{path} has tables of another version of ragq (revision {written}); nothing was changed. Restore it with "
            "that version."
        )
    asyncio.run(_with_connection(url, lambda connection: _refuse(connection, replace)))
    postgres.restore(url, path)
    migrate.upgrade(url)
    # The workers of the backup are elsewhere, or gone.
    asyncio.run(_with_connection(url, workers.end_all))
    found, runs = asyncio.run(_with_connection(url, _content))
    return Backup(file=str(path), bytes=path.stat().st_size, revision=found, runs=runs)


async def _content(connection: Connection) -> tuple[str | None, int]:
    stored = await migrate.stored_revision(connection)
    return stored, 0 if stored is None else await runs.count(connection)


async def _refuse(connection: Connection, replace: bool) -> None:
    found, runs = await _content(connection)
    if found is None:
        return
    if await workers.seen(connection, within_s=_WORKERS_SEEN_SECONDS):
        raise StackError("Workers use the database. `ragq down` and `ragq up --no-workers`, then restore.")
    if runs and not replace:
        raise StackError(
            f"The database has {runs} runs, which would be gone. Set RAGQ_HOME to another folder, or give --replace."
        )


async def _with_connection(url: str, work: Callable[[Connection], Awaitable[Result]]) -> Result:
    async with Database(url, pool_size=1) as database, database.connection() as connection:
        return await work(connection)
