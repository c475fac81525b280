"""The frame around every stage, in one process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from schemas.settings.process import ProcessSettings
from schemas.statuses import JobStatus
from schemas.values.base import Value
from store import runs, stages
from store.database import Database, DatabaseUnreachableError
from store.runs import Stored
from workers.frame import Ending, Frame, Result, StageFunction, Work
from workers.leases import Leases
from workers.wiring import Wiring

StoreRun = Callable[..., Awaitable[Stored]]
RunStage = Callable[[int, StageFunction], Awaitable[Ending]]


class Nothing(Value):
    """An output."""


@pytest.fixture
async def run_extract(database: Database, database_url: str) -> AsyncIterator[RunStage]:
    """Runs `extract` of a job with a function, in a process that poisons at the third interruption."""
    leases = Leases(database_url, "worker", lease_s=6, heartbeat_s=1)
    wiring = Wiring(ProcessSettings(), database, ollama_url=None, is_crowded=lambda: False)
    frame = Frame(database, leases, wiring, worker_id="worker", lease_s=6, grace_s=5, max_interruptions=3)

    def run(job_id: int, function: StageFunction) -> Awaitable[Ending]:
        return frame.run("extract", job_id, {"participant": function}, is_redelivered=False)

    yield run
    leases.stop()


async def interrupt(database: Database, job_id: int, times: int) -> None:
    async with database.connection() as connection:
        for _ in range(times):
            await stages.claim(connection, job_id, "extract", "dead worker", 0)
            await stages.expire(connection, max_interruptions=3)


async def test_a_stage_on_its_last_chance_runs_alone(
    database: Database, store_run: StoreRun, run_extract: RunStage
) -> None:
    stored = await store_run("316", "319", "330")
    neighbour, suspect, newcomer = stored.job_ids
    await interrupt(database, suspect, times=2)
    seen: list[str] = []

    async def stage(work: Work) -> Result:
        seen.append(f"+{work.claim.subject}")
        await asyncio.sleep(0.2)
        seen.append(f"-{work.claim.subject}")
        return Result(Nothing())

    running = [asyncio.ensure_future(run_extract(neighbour, stage))]
    await asyncio.sleep(0.05)
    running.append(asyncio.ensure_future(run_extract(suspect, stage)))
    await asyncio.sleep(0.05)
    running.append(asyncio.ensure_future(run_extract(newcomer, stage)))

    assert await asyncio.gather(*running) == [Ending.STORED] * 3
    assert seen == ["+316", "-316", "+319", "-319", "+330", "-330"]


async def test_a_stage_that_was_interrupted_once_still_runs_beside_others(
    database: Database, store_run: StoreRun, run_extract: RunStage
) -> None:
    stored = await store_run("316", "319")
    await interrupt(database, stored.job_ids[1], times=1)
    together = asyncio.Barrier(2)

    async def stage(work: Work) -> Result:
        await asyncio.wait_for(together.wait(), timeout=5)
        return Result(Nothing())

    endings = await asyncio.gather(*(run_extract(job_id, stage) for job_id in stored.job_ids))

    assert endings == [Ending.STORED] * 2


async def test_a_database_that_stays_away_is_no_failure_of_the_stage(
    database: Database, store_run: StoreRun, run_extract: RunStage
) -> None:
    stored = await store_run()

    async def stage(work: Work) -> Result:
        raise DatabaseUnreachableError(30, "ConnectionRefusedError")

    assert await run_extract(stored.job_ids[0], stage) is Ending.NOTHING_TO_DO
    async with database.connection() as connection:
        overview = await runs.overview(connection, stored.run_id)
    assert overview is not None
    assert overview.states == {JobStatus.RUNNING: 1}
