"""Who may run beside whom in one process.

A stage that kills its process takes the stages beside it along, and each of them counts an interruption. So a stage
that may not be interrupted once more runs alone: what kills the process then is the stage itself, and no neighbour of
a poisonous job is ever poisoned with it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class SharedExclusiveLock:
    """Stages of one process: many together, or one alone. Whoever wants to be alone is let in before newcomers."""

    def __init__(self) -> None:
        self._changed = asyncio.Condition()
        self._shared = 0
        self._is_exclusive = False
        self._waiting_for_exclusive = 0

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Run beside others; waits while somebody is alone or wants to be."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._is_exclusive and not self._waiting_for_exclusive)
            self._shared += 1
        try:
            yield
        finally:
            async with self._changed:
                self._shared -= 1
                self._changed.notify_all()

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Run beside nobody; waits until all who were let in are gone."""
        async with self._changed:
            self._waiting_for_exclusive += 1
            try:
                await self._changed.wait_for(lambda: not self._is_exclusive and not self._shared)
                self._is_exclusive = True
            finally:
                self._waiting_for_exclusive -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            async with self._changed:
                self._is_exclusive = False
                self._changed.notify_all()
