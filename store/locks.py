"""Advisory locks of Postgres: what is done by one at a time, under which no row is there to lock."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import Final

from store.database import Connection


class Lock(StrEnum):
    """What a lock is for. Most are taken of one thing, such as a corpus."""

    API_TOKENS = "api_tokens"
    BATCHES = "batches"
    CHUNK_INDEX = "chunk_index"
    DATA_SET = "data_set"
    ORIGINALS = "originals"
    POSTINGS = "postings"
    REFERENCE_INDEX = "reference_index"
    RUN = "run"
    VOCABULARY = "vocabulary"
    WORKS = "works"


_KEY: Final = "hashtextextended($1, 0)"


async def hold(connection: Connection, lock: Lock, of: str | int = "") -> None:
    """Wait for a lock, which is held until the transaction ends."""
    await connection.execute(f"SELECT pg_advisory_xact_lock({_KEY})", f"{lock} {of}")


async def try_hold(connection: Connection, lock: Lock, of: str | int = "") -> bool:
    """Like `hold`, without waiting: False where another has it."""
    return bool(await connection.fetchval(f"SELECT pg_try_advisory_xact_lock({_KEY})", f"{lock} {of}"))


async def share(connection: Connection, lock: Lock, of: str | int = "") -> None:
    """Wait for a lock that several share, which is held until the session ends; `try_hold` fails meanwhile."""
    await connection.execute(f"SELECT pg_advisory_lock_shared({_KEY})", f"{lock} {of}")


@asynccontextmanager
async def held(connection: Connection, lock: Lock, of: str | int = "") -> AsyncIterator[bool]:
    """Hold a lock for the block, outside of a transaction; False, without waiting, where another has it."""
    key = f"{lock} {of}"
    is_held = bool(await connection.fetchval(f"SELECT pg_try_advisory_lock({_KEY})", key))
    try:
        yield is_held
    finally:
        if is_held:
            await connection.execute(f"SELECT pg_advisory_unlock({_KEY})", key)
