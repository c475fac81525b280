"""The pool of a worker. Its stages run on the loop of the process, and no thread waits for them.

Celery's thread takes a message and hands the stage to the loop. When the stage has ended, the same thread does what
Celery does at the end of a task: it sends the next message of the chain, acknowledges, and informs monitors. So a stage
changes threads twice, where a pool of threads would change them five times. As many stages run at a time as messages
are held, which the prefetch count limits.

Celery measures a task around its function, which here only looks at how the stage ended. So monitors get the time of
the stage itself, without what it waited in a queue of its process.
"""

import asyncio
import os
import time
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final

from celery.concurrency.base import apply_target
from celery.concurrency.thread import TaskPool
from kombu.exceptions import ContentDisallowed, DecodeError
from kombu.serialization import loads, prepare_accept_content

from schemas.chains import STAGES
from workers import process
from workers.batcher import Waited, waiting
from workers.process import ending_as, is_redelivered
from workers.runner import Outcome

_STAGE_OF_TASK: Final = {f"ragq.{stage}": stage for stage in STAGES}
_ACCEPTED: Final = prepare_accept_content(["json"])


class StagePool(TaskPool):
    """Runs stages on the loop, and anything else on threads."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._hub: Any = None
        self._running = 0
        self._ended: SimpleQueue[Callable[[], None]] = SimpleQueue()
        """What ends the task of each stage that has ended, on Celery's thread."""

    def register_with_event_loop(self, loop: Any) -> None:
        """After each connection to the broker; what ended while there was none is finished then."""
        self._hub = loop
        loop.call_soon(self._finish_all)

    def on_apply(
        self,
        target: Callable[..., Any],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        callback: Callable[..., Any] | None = None,
        accept_callback: Callable[..., Any] | None = None,
        **options: Any,
    ) -> Any:
        """Start the stage of a message. A broker without an event loop, and a message of no stage, get a thread."""
        assert args is not None
        task, uuid, request, body, content_type, content_encoding = args
        stage = _STAGE_OF_TASK.get(task)
        if stage is None or self._hub is None or (decoded := _decoded(body, content_type, content_encoding)) is None:
            return super().on_apply(target, args, kwargs, callback, accept_callback, **options)
        if accept_callback is not None:
            accept_callback(os.getpid(), time.monotonic())
        here = process.current(self.app)
        finish = partial(_end_task, target, (task, uuid, request, decoded, None, None), kwargs, callback)
        stage_run = here.runner.run(stage, decoded[1]["job"], is_redelivered=is_redelivered(request))
        self._running += 1
        here.loop.loop.call_soon_threadsafe(self._start, here.loop.loop, stage_run, finish)
        return None

    def on_stop(self) -> None:
        """Wait for the stages that run, and finish each."""
        while self._running:
            self._ended.get()()
        super().on_stop()

    def _start(self, loop: asyncio.AbstractEventLoop, stage_run: Any, finish: Callable[[float], None]) -> None:
        """On the loop."""
        started = time.monotonic()
        in_queues = Waited()

        async def run() -> Outcome:
            nonlocal in_queues
            with waiting() as in_queues:
                outcome: Outcome = await stage_run
            return outcome

        def ended(work: "asyncio.Task[Outcome]") -> None:
            self._ended.put(partial(self._finish, work, finish, time.monotonic() - started - in_queues.seconds))
            self._hub.call_soon(self._finish_all)

        loop.create_task(run()).add_done_callback(ended)

    def _finish_all(self) -> None:
        """On Celery's thread, like on_apply and on_stop."""
        try:
            while True:
                self._ended.get_nowait()()
        except Empty:
            return

    def _finish(self, work: "asyncio.Task[Outcome]", finish: Callable[[float], None], seconds: float) -> None:
        self._running -= 1
        with ending_as(work):
            finish(seconds)


def _end_task(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    callback: Callable[..., Any] | None,
    seconds: float,
) -> None:
    """Celery's end of a task, with the seconds of its stage."""

    def timed(result: Any) -> None:
        assert callback is not None
        # Whether it failed, what it returned or raised, and Celery's seconds; of a worker that ends, no tuple.
        callback((*result[:2], seconds) if isinstance(result, tuple) else result)

    apply_target(target, args, kwargs, timed)


def _decoded(body: Any, content_type: str, content_encoding: str) -> Any:
    """The arguments of a message for a stage; None when it is none, which Celery itself then finds."""
    try:
        decoded = loads(body, content_type, content_encoding, accept=_ACCEPTED)
        return decoded if isinstance(decoded[1]["job"], int) else None
    except (ContentDisallowed, DecodeError, LookupError, TypeError):
        return None
