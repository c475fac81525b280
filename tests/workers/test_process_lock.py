"""Stages that run side by side, and those that must not."""

import asyncio
from contextlib import AbstractAsyncContextManager

from workers.process_lock import SharedExclusiveLock


async def run(name: str, place: AbstractAsyncContextManager[None], seen: list[str]) -> None:
    async with place:
        seen.append(f"+{name}")
        await asyncio.sleep(0.01)
        seen.append(f"-{name}")


async def test_stages_run_side_by_side() -> None:
    lock, seen = SharedExclusiveLock(), list[str]()

    await asyncio.gather(run("a", lock.shared(), seen), run("b", lock.shared(), seen))

    assert seen == ["+a", "+b", "-a", "-b"]


async def test_one_alone_waits_for_the_others_and_goes_before_newcomers() -> None:
    lock, seen = SharedExclusiveLock(), list[str]()

    await asyncio.gather(
        run("a", lock.shared(), seen),
        run("alone", lock.exclusive(), seen),
        run("b", lock.shared(), seen),
        run("alone too", lock.exclusive(), seen),
    )

    assert seen == ["+a", "-a", "+alone", "-alone", "+alone too", "-alone too", "+b", "-b"]


async def test_whoever_gives_up_waiting_to_be_alone_holds_nobody_back() -> None:
    lock, seen = SharedExclusiveLock(), list[str]()

    async with lock.shared():
        gives_up = asyncio.create_task(run("alone", lock.exclusive(), seen))
        await asyncio.sleep(0)
        gives_up.cancel()
        await asyncio.gather(gives_up, return_exceptions=True)
        await asyncio.wait_for(run("b", lock.shared(), seen), timeout=1)

    assert seen == ["+b", "-b"]
