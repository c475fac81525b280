"""What the Celery task of every stage does, and how the next message of a chain is sent."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from celery import Task
from celery.app import app_or_default
from celery.exceptions import Ignore

from workers import process
from workers.runner import Outcome

#: The stage of the task that this thread is finishing, when it ran before its task.
_ran: ContextVar["asyncio.Task[Outcome] | None"] = ContextVar("ran", default=None)


class StageTask(Task[Any, None]):
    """A task whose messages take the short way: every option of theirs is known, so that nothing is looked up."""

    def apply_async(  # type: ignore[override]  # it takes the options of chains alone, and has no result to return
        self,
        args: Sequence[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        task_id: str = "",
        producer: Any = None,
        *,
        queue: str,
        root_id: str | None = None,
        parent_id: str | None = None,
        chain: Sequence[Any] | None = None,
        **options: Any,
    ) -> None:
        """Send the message of a stage, with those of the stages after it. What a stage returned is not passed on."""
        amqp = self.app.amqp
        message = amqp.as_task_v2(
            task_id,
            self.name,
            (),
            kwargs,
            root_id=root_id,
            parent_id=parent_id,
            chain=chain,
            ignore_result=True,
            argsrepr="()",
            kwargsrepr=repr(kwargs),
        )
        with self.app.producer_or_acquire(producer) as sending:
            # A list of Redis needs no declaration, and to look whether a queue is declared costs as much as to send.
            is_redis = sending.connection.transport.driver_type == "redis"
            amqp.send_task_message(
                sending, self.name, message, queue=queue, declare=() if is_redis else None, **options
            )


def run_stage(task: Any, stage: str, job_id: int) -> None:
    """Run one stage of one job in this process, unless it ran already.

    Raises what the stage raised, and Ignore when this copy of the message ends here, which also ends its chain.
    """
    ran = _ran.get()
    if ran is None:
        here = process.current(app_or_default(task.app))
        outcome = here.loop.run(here.runner.run(stage, job_id, is_redelivered=is_redelivered(task.request)))
    else:
        outcome = ran.result()
    if outcome is Outcome.NOTHING_TO_DO:
        raise Ignore


@contextmanager
def ending_as(ran: "asyncio.Task[Outcome]") -> Iterator[None]:
    """A block in which the task of a stage ends as the stage did."""
    token = _ran.set(ran)
    try:
        yield
    finally:
        _ran.reset(token)


def is_redelivered(request: Mapping[str, Any]) -> bool:
    """Whether the broker delivers the message of a request for the second time."""
    return bool((request.get("delivery_info") or {}).get("redelivered"))
