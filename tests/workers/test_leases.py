"""What a process holds, and its essential work."""

import asyncio
import signal
from collections.abc import Iterator

import pytest

from store.database import Connection
from store.runs import workers
from tests.eventually import until
from tests.store.enrolled import enroll
from tests.store.scored import claimed
from workers.leases import Leases, essential


@pytest.fixture
def leases(database_url: str) -> Iterator[Leases]:
    made = Leases(database_url, "w", lease_s=600)
    yield made
    made.stop()


async def test_a_kind_counts_between_two_stages_of_a_job(connection: Connection, leases: Leases, job_id: int) -> None:
    held = await claimed(connection, job_id)
    assert leases.kinds(60) == set()
    leases.hold(held)
    assert leases.kinds(0) == {"participant"}
    leases.release(held)
    assert (leases.kinds(60), leases.kinds(0), leases.count) == ({"participant"}, set(), 0)
    await until(lambda: not leases.kinds(0.2))


async def test_a_worker_is_seen_every_second_however_long_its_leases_are(
    connection: Connection, leases: Leases
) -> None:
    await enroll(connection, "extract")
    for _ in range(2):
        await connection.execute("UPDATE worker SET seen_at = now() - interval '1 hour'")
        await until(lambda: workers.seen(connection, within_s=10), timeout_s=15)


@pytest.fixture
def terminations() -> Iterator[list[int]]:
    """Counts SIGTERM instead of ending."""
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    yield seen
    signal.signal(signal.SIGTERM, before)


async def test_essential_work_may_be_cancelled_and_ends_the_process_when_it_ends_with_an_error(
    terminations: list[int],
) -> None:
    async def work() -> None:
        raise RuntimeError

    task = asyncio.create_task(asyncio.sleep(60))
    essential(task, "work")
    task.cancel()
    await asyncio.sleep(0.05)
    assert terminations == []

    essential(asyncio.create_task(work()), "work")
    await asyncio.sleep(0.05)
    assert terminations == [signal.SIGTERM]
