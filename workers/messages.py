"""Chains as messages. A chain is always built from rows, and a message is a few ids.

Sending is never the truth of anything: a stage row that is ready is due whether or not its message arrived, and what
seems lost is sent again. So a broker that is down costs time, not work.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import amqp
import redis
from celery import Celery, chain
from kombu.exceptions import KombuError

from schemas.chains import INDEXING
from store.runs.job_control import PendingChain

#: Work that somebody waits for.
FIRST: Final = 0
#: Sets of work. Version 0.9 has its indexing here, so that its workers take what this version sends.
NORMAL: Final = 6
#: Indexing, which may be hours of work: it takes what the other work leaves.
BACKGROUND: Final = 9
PRIORITIES: Final = (FIRST, NORMAL, BACKGROUND)
"""Lower comes first, as in the Redis transport of Celery, which has a list per queue and priority."""


def priority_of(kind: str) -> int:
    """That of the jobs of a kind in the passes of a model."""
    return BACKGROUND if kind in INDEXING else FIRST


#: What is raised when the broker cannot be reached or refuses; kombu lets some errors through as they are.
BROKER_ERRORS: Final[tuple[type[BaseException], ...]] = (KombuError, OSError, redis.RedisError, amqp.AMQPError)


def send(app: Celery, due: Sequence[PendingChain], priorities: Mapping[int, int] = MappingProxyType({})) -> int:
    """Send a message for each chain, in order, with the priority of its job where that has one.

    How many were sent: fewer than asked when the broker went away.
    """
    sent = 0
    try:
        with app.producer_or_acquire() as producer:
            for pending in due:
                usual = BACKGROUND if pending.kind in INDEXING else NORMAL
                messages = _chain(app, pending, priorities.get(pending.job_id, usual))
                messages.apply_async(producer=producer, root_id=f"r{pending.run_id}")
                sent += 1
    except BROKER_ERRORS:
        return sent
    return sent


def _chain(app: Celery, pending: PendingChain, priority: int) -> chain:
    return chain(
        *(
            app.signature(
                f"ragq.{stage.stage}",
                kwargs={"run": pending.run_id, "job": pending.job_id, "subject": pending.subject},
                immutable=True,
                options={
                    "task_id": f"j{pending.job_id}:{stage.stage}:{stage.attempt}",
                    "queue": stage.queue,
                    "priority": priority,
                },
            )
            for stage in pending.stages
        ),
        app=app,
    )
