"""How many messages wait in the queues."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import redis
from celery import Celery
from kombu.exceptions import OperationalError

from workers.app import KEY_PREFIX
from workers.broker import list_of
from workers.priorities import PRIORITIES

_TIMEOUT_S = 2.0


@dataclass(frozen=True)
class Depths:
    """What the broker holds."""

    waiting: Mapping[tuple[str, int], int]
    """Messages by queue and priority. A broker without priorities has the same number under each."""
    in_queue: Mapping[str, int]
    """Messages by queue."""


class QueueDepths:
    """Looks at the broker of an application, over a connection that is kept."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        url: str = app.conf.broker_url
        self._redis = (
            redis.Redis.from_url(url, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S)
            if url.startswith(("redis", "unix"))
            else None
        )

    def read(self, queues: Collection[str]) -> Depths:
        """What the broker holds now. Raises one of BROKER_ERRORS when it cannot be reached."""
        return self._of_any(queues) if self._redis is None else _of_redis(self._redis, queues)

    def close(self) -> None:
        """Close the connection."""
        if self._redis is not None:
            self._redis.close()

    def _of_any(self, queues: Collection[str]) -> Depths:
        with self._app.connection_for_read(connect_timeout=_TIMEOUT_S) as connection:
            try:
                channel = connection.channel()
                declared = {queue: self._app.amqp.queues[queue](channel).queue_declare() for queue in queues}
            except (*connection.connection_errors, *connection.channel_errors) as error:
                raise OperationalError(type(error).__name__) from error
        in_queue = {queue: int(found.message_count) for queue, found in declared.items()}  # type: ignore[union-attr]
        return Depths({(queue, p): count for queue, count in in_queue.items() for p in PRIORITIES}, in_queue)


def _of_redis(client: "redis.Redis", queues: Collection[str]) -> Depths:
    lists = [(queue, priority) for queue in queues for priority in PRIORITIES]
    with client.pipeline(transaction=False) as pipeline:
        for queue, priority in lists:
            pipeline.llen(f"{KEY_PREFIX}{list_of(queue, priority)}")
        lengths = pipeline.execute()
    waiting = dict(zip(lists, lengths, strict=True))
    in_queue = {queue: sum(waiting[queue, priority] for priority in PRIORITIES) for queue in queues}
    return Depths(waiting, in_queue)
