"""The Redis transport of kombu, made to outlive Redis, and a look at how full the queues are.

kombu 5.7 ends the worker process when Redis goes away while a message is unacknowledged, because it restores
messages through a connection that is gone; and it makes a new client for every single command. The subclasses below
leave such messages to the reaper and keep one client per pool. They also keep threads of a worker free of indexing.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import redis
import structlog
from kombu.transport import redis as kombu_redis

from workers.priorities import BACKGROUND, PRIORITIES

log = structlog.get_logger(__name__)

#: One thread in so many, and one at least where there are several, takes no messages of indexing.
_KEPT_FREE = 4
#: How long a worker that is full of indexing waits for other messages before it looks whether some of it has ended.
_FULL_S = 0.02


class QoS(kombu_redis.QoS):
    """Acknowledgement that does not fail with the connection."""

    def restore_unacked(self, client: Any = None) -> None:
        """Give unacknowledged messages back, if the broker is there to take them."""
        try:
            super().restore_unacked(client)
        except (AttributeError, OSError, redis.RedisError) as error:
            log.warning("messages_left_to_the_reaper", error_type=type(error).__name__)

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge, unless the channel is closed; the message then comes again and its claim finds nothing."""
        try:
            super().ack(delivery_tag)
        except AttributeError:
            log.warning("acknowledged_on_a_closed_channel")


class Channel(kombu_redis.Channel):
    """A channel with one client per pool that remembers its connection's parameters."""

    QoS = QoS
    _client_of_pool: tuple[Any, Any] | None = None
    _remembered: dict[bool, dict[str, Any]] | None = None

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        if self._remembered is None:
            self._remembered = {}
        try:
            parameters = dict(super()._connparams(asynchronous=asynchronous))  # type: ignore[misc]
        except AttributeError:
            # The connection object is gone already; a late acknowledgement still finds its way.
            if asynchronous not in self._remembered:
                raise
            return dict(self._remembered[asynchronous])
        self._remembered[asynchronous] = dict(parameters)
        return parameters

    def _brpop_start(self, timeout: float | None = None) -> None:
        every = self.priority_steps
        if self._is_full_of_background():
            self.priority_steps = [step for step in every if step < BACKGROUND]
            timeout = _FULL_S
        try:
            super()._brpop_start(timeout)  # type: ignore[misc]
        finally:
            self.priority_steps = every

    def _is_full_of_background(self) -> bool:
        """Whether as many messages of indexing are unfinished as the worker takes at once, so that it waits for others.

        The next of them is taken _FULL_S after one of them ends at the latest, when the wait for others is over.
        """
        threads = self.qos.prefetch_count
        held = [
            message
            for tag, message in list((self.qos._delivered or {}).items())
            if tag not in (self.qos._dirty or ()) and (message.properties.get("priority") or 0) >= BACKGROUND
        ]
        return threads > 1 and len(held) >= threads - max(1, threads // _KEPT_FREE)

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        """The given client, or the one that this channel keeps for its pool."""
        if client is not None:
            yield client
            return
        pool = self.pool
        if self._client_of_pool is None or self._client_of_pool[0] is not pool:
            self._client_of_pool = (pool, self._create_client())  # type: ignore[attr-defined]
        yield self._client_of_pool[1]


class Transport(kombu_redis.Transport):
    """Named in `broker_transport`; the broker's URL stays redis://."""

    Channel = Channel


class Depths(NamedTuple):
    """How many messages the broker holds."""

    waiting: dict[str, int]
    """Per queue."""
    unacknowledged: int
    """Of all queues together."""


def depths(broker_url: str, key_prefix: str, queues: Sequence[str]) -> Depths | None:
    """What a Redis-protocol broker holds; None for other brokers. Raises redis.RedisError when it is not there."""
    if not broker_url.startswith(("redis", "rediss")):
        return None
    client = redis.Redis.from_url(broker_url, socket_timeout=2, socket_connect_timeout=2)
    try:
        with client.pipeline(transaction=False) as pipeline:
            for queue in queues:
                for priority in PRIORITIES:
                    pipeline.llen(f"{key_prefix}{list_of(queue, priority)}")
            pipeline.hlen(f"{key_prefix}unacked")
            *lengths, unacknowledged = pipeline.execute()
    finally:
        client.close()
    steps = len(PRIORITIES)
    waiting = {queue: sum(lengths[at * steps : (at + 1) * steps]) for at, queue in enumerate(queues)}
    return Depths(waiting, unacknowledged)


def list_of(queue: str, priority: int) -> str:
    """The list in which messages of a queue with a priority wait, without the prefix of keys."""
    return f"{queue}{Channel.sep}{priority}" if priority else queue
