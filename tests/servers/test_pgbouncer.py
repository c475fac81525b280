"""PgBouncer in transaction mode between workers and Postgres."""

import asyncio
import dataclasses
from collections.abc import Iterator

import pytest

from schemas.errors import RagqError
from store.database import Connection, Database, PoolerError
from store.runs.edits import Changes
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.fault_tolerance.breakable import UNCHECKED, BreakableInstallation, Servers
from tests.acceptance.small_data_set import TEST
from tests.servers.programs import PgBouncer

pytestmark = [pytest.mark.long, pytest.mark.servers]


@pytest.fixture(scope="module")
def postgres_url(servers: Servers, fault_tolerance_template: str) -> str:
    servers.administer(f'CREATE DATABASE pooled TEMPLATE "{fault_tolerance_template}" STRATEGY file_copy')
    return servers.database_url("pooled")


@pytest.fixture(scope="module")
def pooler(postgres_url: str) -> Iterator[PgBouncer]:
    """A pooler with four sessions for any number of clients."""
    with PgBouncer(postgres_url) as running:
        yield running


async def test_many_clients_share_few_sessions(postgres_url: str, pooler: PgBouncer) -> None:
    async def work(connection: Connection, number: int) -> tuple[int, int]:
        async with connection.transaction():
            await connection.execute("SELECT pg_sleep(0.01)")
            row = await connection.fetchrow("SELECT $1::int AS number, pg_backend_pid() AS session", number)
            return row["number"], row["session"]

    async with Database(postgres_url, pool_size=30, pooler_url=pooler.url) as database:
        answers = [await asyncio.gather(*(database.ask(work, number) for number in range(30))) for _ in range(5)]
    assert [[number for number, _ in answer] for answer in answers] == [list(range(30))] * 5
    assert 1 < len({session for answer in answers for _, session in answer}) <= 4


async def test_locks_of_a_session_and_notifications_use_postgres_itself(postgres_url: str, pooler: PgBouncer) -> None:
    database = Database(postgres_url, pooler_url=pooler.url)
    async with database.session() as first, database.session() as second:
        assert await first.fetchval("SELECT pg_try_advisory_lock(7)")
        assert not await second.fetchval("SELECT pg_try_advisory_lock(7)")
        assert await first.fetchval("SELECT pg_advisory_unlock(7)")
    changes = Changes(database.url)
    async with changes.subscribe() as subscription:
        assert await subscription.next(10)
        async with database.connection() as connection:
            await connection.execute("""SELECT pg_notify('ragq_changes', '{"run": 1, "job": null}')""")
        assert await subscription.next(10)
    await changes.close()
    await database.close()


async def test_a_pooler_in_place_of_the_database_is_named(pooler: PgBouncer) -> None:
    database = Database(pooler.url, pool_size=8)

    async def ask() -> None:
        async with database.connection() as connection, connection.transaction():
            await connection.fetch("SELECT pg_sleep(0.02), $1::int", 1)

    async with database:
        with pytest.raises(PoolerError, match="RAGQ_DATABASE_POOLER_URL"):
            for _ in range(20):
                await asyncio.gather(*(ask() for _ in range(8)))
    assert issubclass(PoolerError, RagqError)


def test_runs_finish_through_the_pooler(
    made: BreakableInstallation, postgres_url: str, pooler: PgBouncer, evidence: GiveEvidence
) -> None:
    settings = made.settings | {"RAGQ_DATABASE_POOLER_URL": pooler.url}
    with (
        dataclasses.replace(made, database_url=postgres_url, settings=settings) as installation,
        installation.supervised(workers=2) as workers,
    ):
        chosen = evidence(dict.fromkeys(TEST, 3))
        run_ids = [installation.submit(*chosen, *UNCHECKED, "--new") for _ in range(4)]
        workers.workers[0].kill()
        pooler.kill()
        pooler.start()
        for run_id in run_ids:
            installation.assert_recovered(run_id, jobs=2 * len(TEST))
        sessions = "SELECT application_name FROM pg_stat_activity WHERE datname = current_database()"
        names = [row["application_name"] for row in installation.rows(sessions)]
        assert names.count("ragq heartbeat") == 2
        assert names.count("ragq") <= 4
