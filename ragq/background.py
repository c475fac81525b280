"""The event loop of a connection, on a thread of its own: a notebook has a loop that cannot be waited on."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class Background:
    """Runs coroutines and waits for them, from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ragq", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of a coroutine. An interrupt of the cell cancels it."""
        done = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return done.result()
        except KeyboardInterrupt:
            done.cancel()
            raise

    def close(self) -> None:
        """End the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
