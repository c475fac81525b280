"""Whether a database's pgvector is new enough."""

from typing import Final, NamedTuple

import asyncpg

from schemas.errors import StackError
from store.database import Connection

NEEDED: Final = "0.8.0"
"""The first version whose vector index searches on until enough rows pass a filter."""

_FOUND = "SELECT default_version, installed_version FROM pg_available_extensions WHERE name = 'vector'"


_INSTALL = "Install it as https://github.com/pgvector/pgvector#installation shows, and run `ragq migrate` again."


class PgvectorError(StackError):
    """The database has no pgvector that ragq can use. The remedy is a part of the message."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}; ragq needs {NEEDED} or newer. {remedy}")
        self.problem = problem
        self.remedy = remedy


class Versions(NamedTuple):
    """The versions of pgvector; None where there is none."""

    available: str | None
    """What the server would install."""
    installed: str | None
    """That of the database."""


async def require(database_url: str) -> None:
    """Raise PgvectorError unless the server has a pgvector that is new enough, and the database no older one."""
    connection = await asyncpg.connect(database_url)
    try:
        check(await versions(connection))
    finally:
        await connection.close()


async def versions(connection: Connection) -> Versions:
    """Those of a server and a database, which need not have any."""
    return Versions(*await connection.fetchrow(_FOUND) or (None, None))


def check(found: Versions) -> None:
    """Raise PgvectorError where these are missing or too old; a database without any gets the server's.

    >>> check(Versions("0.8.1", None)), check(Versions("0.10.0", "0.8.0"))
    (None, None)
    >>> check(Versions("0.8.0", "0.6.2"))
    Traceback (most recent call last):
    store.pgvector.PgvectorError: The database has pgvector 0.6.2; ragq needs 0.8.0 or newer. Run `ALTER EXTENSION \
vector UPDATE` in it as the extension's owner.
    """
    if found.available is None:
        raise PgvectorError("The server has no pgvector", _INSTALL)
    if _is_older(found.available):
        raise PgvectorError(f"The server has pgvector {found.available}", _INSTALL)
    if found.installed is not None and _is_older(found.installed):
        remedy = "Run `ALTER EXTENSION vector UPDATE` in it as the extension's owner."
        raise PgvectorError(f"The database has pgvector {found.installed}", remedy)


def _is_older(version: str) -> bool:
    return _numbers(version) < _numbers(NEEDED)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
