"""A connection that takes the digest of everything that is read through it."""

import hashlib
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from store.database import Connection


class DigestedConnection:
    """Reads as asyncpg's connection does, and nothing else: what would not be in the digest is no attribute.

    The same statements over the same rows have the same digest, in every process.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._read = hashlib.sha256()

    def digest(self) -> bytes:
        """SHA-256 over the statements so far, their arguments and their rows."""
        return self._read.digest()

    async def fetch(self, statement: str, *args: Any) -> Sequence[Any]:
        rows: Sequence[Any] = self._add(await self._connection.fetch(statement, *args), statement, args)
        return rows

    async def fetchrow(self, statement: str, *args: Any) -> Any:
        return self._add(await self._connection.fetchrow(statement, *args), statement, args)

    async def fetchval(self, statement: str, *args: Any) -> Any:
        return self._add(await self._connection.fetchval(statement, *args), statement, args)

    def transaction(self, **options: Any) -> AbstractAsyncContextManager[Any]:
        found: AbstractAsyncContextManager[Any] = self._connection.transaction(**options)
        return found

    def _add(self, found: Any, statement: str, args: Sequence[Any]) -> Any:
        self._read.update(repr((statement, args, found)).encode("utf-8", "surrogatepass"))
        return found
