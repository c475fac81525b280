"""Chains as messages. A chain is always built from rows, and a message is a few ids.

Sending is never the truth of anything: a stage row that is ready is due whether or not its message arrived, and the
reaper sends again what seems lost. So a broker that is down costs time, not work.
"""

from collections.abc import Sequence
from typing import Final

import redis
from celery import Celery, chain
from kombu.exceptions import KombuError

from store.runs.pending_chains import PendingChain
from workers.priorities import priority_of

#: What is raised when the broker cannot be reached or refuses; kombu lets some errors of Redis through as they are.
BROKER_ERRORS: Final[tuple[type[BaseException], ...]] = (KombuError, OSError, redis.RedisError)


def send(app: Celery, due: Sequence[PendingChain]) -> int:
    """Send a message for each chain, in order. How many were sent: fewer than asked when the broker went away."""
    sent = 0
    try:
        with app.producer_or_acquire() as producer:
            for pending in due:
                _chain(app, pending).apply_async(producer=producer, root_id=f"r{pending.run_id}")
                sent += 1
    except BROKER_ERRORS:
        return sent
    return sent


def _chain(app: Celery, pending: PendingChain) -> chain:
    return chain(
        *(
            app.signature(
                f"ragq.{stage.stage}",
                kwargs={"run": pending.run_id, "job": pending.job_id, "subject": pending.subject},
                immutable=True,
                options={
                    "task_id": f"j{pending.job_id}:{stage.stage}:{stage.attempt}",
                    "queue": stage.stage,
                    "priority": priority_of(pending.kind),
                },
            )
            for stage in pending.stages
        ),
        app=app,
    )
