"""A crash of Postgres takes claims back that it did not write yet: what was computed for them is not stored."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from schemas.statuses import StageStatus
from schemas.values.base import Value
from store import migrate
from store.database import Database
from store.runs import attempts, stages
from tests import run_folder
from tests.conftest import administer
from tests.embedded import PostgresServer
from tests.store.conftest import StoreRun
from tests.store.scored import claimed
from tests.workers.processes import stage_runner
from workers.runner import Outcome
from workers.work import Result, Work


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A Postgres that writes a commit which does not wait for the disk only seconds later, or with the next other."""
    with PostgresServer(run_folder.new_folder()) as postgres:
        migrate.upgrade(postgres.url)
        administer(postgres, "ALTER SYSTEM SET wal_writer_delay = '10s'")
        crash(postgres)
        yield postgres


@pytest.fixture
async def database(server: PostgresServer) -> AsyncIterator[Database]:
    async with Database(server.url, pool_size=4) as connected:
        yield connected


def crash(server: PostgresServer) -> None:
    server.kill()
    server.start()


async def test_the_claim_of_a_stage_that_asks_a_language_model_outlives_a_crash(
    database: Database, server: PostgresServer, store_run: StoreRun
) -> None:
    job_id = (await store_run(stages=("validate",))).job_ids[0]
    held = await database.ask(claimed, job_id, "validate")

    crash(server)

    assert await database.ask(stages.commit, held, inputs={}, output={"by": "held"})


async def test_a_stage_whose_claim_was_lost_is_done_again(
    database: Database, server: PostgresServer, store_run: StoreRun
) -> None:
    job_id = (await store_run(stages=("embed", "assemble"))).job_ids[0]
    tries: list[int] = []

    async def stage(work: Work) -> Result[Value]:
        tries.append(work.claim.token)
        if len(tries) == 1:
            await asyncio.to_thread(crash, server)
        return Result(Value())

    with stage_runner(database, {("participant", "few_shot", "embed"): stage}, lease_s=120) as runner:
        outcomes = [await runner.run("embed", job_id, is_redelivered=False) for _ in range(3)]

    assert outcomes == [Outcome.NOTHING_TO_DO, Outcome.STORED, Outcome.NOTHING_TO_DO]
    assert len(set(tries)) == 2
    found = await database.ask(stages.look, job_id, "embed")
    assert found is not None
    assert (found.status, found.fence) == (StageStatus.DONE, 1)
    history = await database.ask(attempts.history, job_id)
    assert [(attempt.number, attempt.outcome) for attempt in history] == [(1, "succeeded")]
