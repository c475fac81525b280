"""Essential background work of a process."""

import asyncio
import signal
from collections.abc import Iterator

import pytest

from workers.leases import essential


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
