"""One event loop per process, on its own thread, for the life of the process.

Celery's tasks are plain functions; they hand a coroutine to this loop and wait. So connections, clients and the
batcher live on between tasks, which a loop per task would not allow.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

import structlog

log = structlog.get_logger(__name__)

Result = TypeVar("Result")


class LoopThread:
    """A running event loop on a daemon thread."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, Result]) -> "Future[Result]":
        """Start a coroutine on the loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine on the loop and wait for it. When the wait is broken off, the coroutine is cancelled."""
        future = self.submit(work)
        try:
            return future.result()
        finally:
            future.cancel()

    def stop(self) -> None:
        """Cancel what still runs and end the thread."""

        async def cancel_all() -> None:
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self.run(cancel_all())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(timeout=5)
        self.loop.close()


def essential(work: "Future[Any] | asyncio.Task[Any]", name: str) -> None:
    """Let SIGTERM end this process when work that should last for ever ends with an error.

    A worker without its heartbeat would lose every stage, and one without its reaper would look alive and mend
    nothing; a supervisor starts a whole one instead.
    """

    def look(ended: "Future[Any] | asyncio.Task[Any]") -> None:
        if not ended.cancelled() and (error := ended.exception()) is not None:
            log.critical("essential_work_ended", work=name, error_type=type(error).__name__)
            os.kill(os.getpid(), signal.SIGTERM)

    work.add_done_callback(look)
