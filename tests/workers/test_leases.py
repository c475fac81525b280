"""What a process holds, and its essential work."""

import asyncio
import signal
from collections.abc import Iterator

import pytest

from store.database import Connection, Database
from store.runs import stages, workers
from tests.store.enrolled import enroll
from workers.leases import Leases, essential


async def test_a_kind_counts_between_two_stages_of_a_job(database: Database, database_url: str, job_id: int) -> None:
    held = await database.with_retry(lambda connection: stages.claim(connection, job_id, "extract", "worker", 60))
    assert held is not None
    leases = Leases(database_url, "worker", lease_s=60)
    try:
        assert leases.kinds(60) == set()
        leases.hold(held)
        assert leases.kinds(0) == {"participant"}
        leases.release(held)
        assert (leases.kinds(60), leases.kinds(0), leases.count) == ({"participant"}, set(), 0)
        async with asyncio.timeout(60):
            while leases.kinds(0.2):  # noqa: ASYNC110  (time passes without an event)
                await asyncio.sleep(0.05)
    finally:
        leases.stop()


async def test_a_worker_is_seen_every_second_however_long_its_leases_are(
    database: Database, database_url: str, connection: Connection
) -> None:
    await enroll(connection, "extract")
    leases = Leases(database_url, "w", lease_s=600)
    try:
        for _ in range(2):
            await connection.execute("UPDATE worker SET seen_at = now() - interval '1 hour'")
            async with asyncio.timeout(15):
                while not await workers.seen(connection, within_s=10):  # noqa: ASYNC110  (the heartbeat notifies nobody)
                    await asyncio.sleep(0.05)
    finally:
        leases.stop()


@pytest.fixture
def terminations() -> Iterator[list[int]]:
    """Counts SIGTERM instead of ending."""
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    yield seen
    signal.signal(signal.SIGTERM, before)


async def test_essential_work_that_ends_with_an_error_ends_the_process(terminations: list[int]) -> None:
    async def work() -> None:
        raise RuntimeError

    essential(asyncio.create_task(work()), "work")
    await asyncio.sleep(0.05)

    assert terminations == [signal.SIGTERM]


async def test_essential_work_may_be_cancelled(terminations: list[int]) -> None:
    task = asyncio.create_task(asyncio.sleep(60))
    essential(task, "work")
    task.cancel()
    await asyncio.sleep(0.05)

    assert terminations == []
