"""Connections that break, hang and are restored, how long the database took, and migrations."""

import asyncio
import contextlib
import math
import os
import re
import signal
from collections import defaultdict
from importlib.resources import files
from operator import methodcaller
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import asyncpg
import pytest
from alembic.script import ScriptDirectory

from schemas.errors import StackError
from schemas.tables import METADATA
from services.doctor import Verdict, check_database
from store import migrate
from store.database import Connection, Database, DatabaseUnavailableError
from store.migrate import is_newest_revision, pgvector_flaw
from tests.store.statements import execute

TERMINATE = "SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity WHERE application_name = 'victim'"


async def one(connection: Connection) -> int:
    found: int = await connection.fetchval("SELECT 1")
    return found


async def test_no_connection_that_was_closed_is_handed_out(database_url: str, connection: Connection) -> None:
    async with Database(database_url, pool_size=4, application_name="victim") as victim:
        await asyncio.gather(*(victim.with_retry(one) for _ in range(4)))
        assert await connection.fetchval(TERMINATE) > 1
        await asyncio.sleep(0.1)

        assert [await victim.once(one) for _ in range(4)] == [1] * 4


async def test_a_connection_that_is_not_used_for_a_while_is_kept(database: Database) -> None:
    async with database.connection() as connection:
        before = connection.get_server_pid()
    await asyncio.sleep(1.2)

    async with database.connection() as connection:
        assert connection.get_server_pid() == before


async def test_a_connection_whose_server_hangs_is_removed_from_the_pool(database: Database) -> None:
    async with database.connection() as connection:
        backend = await connection.fetchval("SELECT pg_backend_pid()")
    os.kill(backend, signal.SIGSTOP)
    try:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2), database.connection() as connection:
                await one(connection)
        assert await asyncio.wait_for(database.once(one), timeout=60) == 1
    finally:
        os.kill(backend, signal.SIGCONT)


async def test_retries_with_an_unavailable_database_are_limited() -> None:
    told = r"the database cannot be reached .*Refused.*`ragq up`"
    async with Database("postgresql://ragq:secret@127.0.0.1:1/ragq") as nowhere:
        assert nowhere.reachable_for_s == math.inf

        with pytest.raises(DatabaseUnavailableError, match=told) as unavailable:
            await nowhere.with_retry(one, retry_for_s=0.2)
        assert "secret" not in str(unavailable.value)

        assert nowhere.reachable_for_s < 1


async def test_a_database_that_is_just_starting_is_waited_for() -> None:
    async def start_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            await reader.read(8)
            writer.write(b"N")
            await reader.read(1024)
            fields = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"
            writer.write(b"E" + (len(fields) + 4).to_bytes(4) + fields)
            await writer.drain()

    server = await asyncio.start_server(start_up, "127.0.0.1", 0)
    url = f"postgresql://ragq@127.0.0.1:{server.sockets[0].getsockname()[1]}/ragq"
    async with server, Database(url) as starting:
        with pytest.raises(DatabaseUnavailableError, match="CannotConnectNowError"):
            await starting.with_retry(one, retry_for_s=0.3)


async def test_a_database_that_refuses_is_not_asked_again(database_url: str) -> None:
    url = urlsplit(database_url)
    async with Database(url._replace(netloc=f"ragq:wrong@{url.hostname}:{url.port}").geturl()) as refused:
        with pytest.raises(asyncpg.InvalidPasswordError):
            await refused.with_retry(one)


async def test_a_database_that_is_read_only_for_a_while_is_waited_for(
    database_url: str, connection: Connection
) -> None:
    read_only = f"ALTER DATABASE {urlsplit(database_url).path.strip('/')} SET default_transaction_read_only"
    await connection.execute(f"{read_only} = on")
    async with Database(database_url) as standby:
        writes = asyncio.create_task(standby.with_retry(lambda other: other.execute("CREATE TABLE written ()")))
        await asyncio.sleep(0.5)
        assert not writes.done()
        await connection.execute(f"{read_only} = off")

        assert await writes == "CREATE TABLE"


async def test_of_two_transactions_that_wait_for_each_other_both_are_done(
    database: Database, connection: Connection
) -> None:
    await connection.execute("CREATE TABLE seat (id integer, taken integer); INSERT INTO seat VALUES (1, 0), (2, 0)")
    both = asyncio.Barrier(2)
    tries = []

    async def take(connection: Connection, first: int, second: int) -> None:
        tries.append(first)
        async with connection.transaction():
            await connection.execute("UPDATE seat SET taken = taken + 1 WHERE id = $1", first)
            if len(tries) <= 2:
                await both.wait()
            await connection.execute("UPDATE seat SET taken = taken + 1 WHERE id = $1", second)

    await asyncio.gather(
        database.with_retry(lambda connection: take(connection, 1, 2)),
        database.with_retry(lambda connection: take(connection, 2, 1)),
    )

    assert await connection.fetchval("SELECT array_agg(taken) FROM seat") == [2, 2]
    assert len(tries) == 3


async def test_what_a_database_lacks_is_named(database: Database) -> None:
    for sqlstate, found in (
        ("53100", r"the database has no disk space left \(DiskFullError\)\. Free space on the disk of its data\."),
        ("53200", r"the database is out of memory \(OutOfMemoryError\)\. Give it more memory\."),
        ("53300", r"the database has no connection left \(TooManyConnectionsError\)\. Raise its max_connections\."),
        ("58030", r"the database cannot read or write its files \(PostgresIOError\)\. See its log\."),
    ):
        work = methodcaller("execute", f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{sqlstate}'; END $$")
        with pytest.raises(DatabaseUnavailableError, match=f"For 0.1 s {found}"):
            await database.with_retry(work, retry_for_s=0.1)


def test_tables_and_migrations_agree_and_there_is_one_newest_revision(database_url: str) -> None:
    migrate.check(database_url)
    assert len(ScriptDirectory(str(files("migrations"))).get_heads()) == 1


async def test_a_migrated_database_has_the_newest_revision_and_one_behind_or_empty_not(connection: Connection) -> None:
    assert await is_newest_revision(connection)
    await connection.execute("UPDATE alembic_version SET version_num = '0000'")
    assert not await is_newest_revision(connection)
    await connection.execute("DROP TABLE alembic_version")
    assert not await is_newest_revision(connection)


def test_an_old_version_in_the_database_is_refused_with_the_statement_that_updates_it(database_url: str) -> None:
    asyncio.run(execute(database_url, "UPDATE pg_extension SET extversion = '0.6.2' WHERE extname = 'vector'"))

    with pytest.raises(StackError, match=r"has pgvector 0\.6\.2; .* Run `ALTER EXTENSION vector UPDATE` in it"):
        migrate.upgrade(database_url)
    found = {finding.name: finding for finding in check_database({"DATABASE_URL": database_url})}
    assert (found["pgvector"].verdict, found["pgvector"].found) == (Verdict.FAIL, "The database has pgvector 0.6.2")


def test_a_server_that_cannot_install_it_is_refused() -> None:
    for version, found in ((None, "no pgvector"), ("0.7.4", "pgvector 0.7.4")):
        problem, remedy = pgvector_flaw(version, None) or ("", "")
        assert (problem, "run `ragq db migrate` again" in remedy) == (f"The server has {found}", True)


STORE: Final = Path(__file__).parents[2] / "store"
WRITES: Final = re.compile(
    r"(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)"
    r'|(?:copy_records_to_table\(|rows\.(?:insert|put|update|delete)\(\s*connection,)\s*"(\w+)"'
)


def test_no_table_is_written_by_two_subjects() -> None:
    writers: dict[str, set[str]] = defaultdict(set)
    for path in STORE.rglob("*.py"):
        subject = path.relative_to(STORE).with_suffix("").parts[0]
        for found in WRITES.finditer(path.read_text("utf-8")):
            writers[next(filter(None, found.groups()))].add(subject)

    assert {table: by for table in METADATA.tables if len(by := writers[table]) > 1} == {}
