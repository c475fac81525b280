"""The files that works were converted from, kept by the hash of their bytes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256

from schemas.errors import InputChangedError
from store.database import BULK_SECONDS, Connection, Database
from store.locks import Lock, share, try_hold

KEEP = "INSERT INTO original (hash, content, size) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"

DROP = """
DELETE FROM original AS o
WHERE NOT EXISTS (SELECT FROM works AS w WHERE w.original_hash = o.hash)
  AND NOT EXISTS (SELECT FROM job AS j WHERE j.kind = 'work' AND j.inputs ->> 'original' = o.hash)
"""


@asynccontextmanager
async def importing(database: Database) -> AsyncIterator[None]:
    """Until the end of the block, no file is dropped for want of a job. Holds a connection of its own."""
    one = Database(database.url, pool_size=1, application_name="ragq import")
    async with one as own, own.connection() as connection:
        await share(connection, Lock.ORIGINALS)
        yield


async def drop_unused(connection: Connection) -> None:
    """Delete the files that no work was converted from and no job is about; while files are imported, none."""
    # Those of an import that has no jobs yet are not looked at while it has its lock.
    async with connection.transaction():
        if await try_hold(connection, Lock.ORIGINALS):
            await connection.execute(DROP)


async def keep(connection: Connection, content: bytes) -> str:
    """Store a file, once. Its hash: SHA-256, in hexadecimal."""
    named = sha256(content).hexdigest()
    await connection.execute(KEEP, named, content, len(content), timeout=BULK_SECONDS)
    return named


async def content(connection: Connection, named: str) -> bytes:
    """A file by its hash. Raises InputChangedError when it is gone, or is another one."""
    found: bytes | None = await connection.fetchval(
        "SELECT content FROM original WHERE hash = $1", named, timeout=BULK_SECONDS
    )
    if found is None or sha256(found).hexdigest() != named:
        raise InputChangedError("The file of the document is gone or changed since it was imported; import it again.")
    return found


async def imported(connection: Connection, corpus_id: int) -> dict[str, str]:
    """The hash of the file of each work that was converted, by its source."""
    rows = await connection.fetch(
        "SELECT source_path, original_hash FROM works WHERE corpus_id = $1 AND original_hash IS NOT NULL", corpus_id
    )
    return {row["source_path"]: row["original_hash"] for row in rows}
