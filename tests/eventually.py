"""Waiting for what another process, another thread or a server does."""

import asyncio
import time
from collections.abc import Awaitable, Callable


def eventually(is_so: Callable[[], bool], *, timeout_s: float = 60.0) -> None:
    """Wait until a condition holds, and fail after a time limit."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline, "It never became so."
        time.sleep(0.02)


async def until(is_so: Callable[[], Awaitable[object] | bool], *, timeout_s: float = 60.0) -> None:
    """As `eventually`, in an event loop; the condition may be a coroutine."""
    async with asyncio.timeout(timeout_s):
        while True:
            found = is_so()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.02)
