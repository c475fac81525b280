"""The Redis transport of kombu without its record of unacknowledged messages.

kombu keeps a copy of every message that a worker holds in the broker, so that it can be sent again. Here a message is
a hint: the row of a stage says whether it is due, whoever held a message for it. So messages are counted in memory
alone, a broker that goes away takes nothing with it, and a stage costs two transactions of the broker less. The
channel below also keeps one client per pool, which kombu makes anew for every single command, and keeps threads of a
worker free of indexing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport import redis as kombu_redis

from workers.priorities import BACKGROUND
from workers.received import log, why_no_envelope

#: One thread in so many, and one at least where there are several, takes no messages of indexing.
_KEPT_FREE = 4
#: How long a worker that is full of indexing waits for other messages before it looks whether some of it has ended.
_FULL_S = 0.02


class Channel(kombu_redis.Channel):
    """A channel that forgets a message once it is taken, with one client per pool."""

    ack_emulation = False
    # What a closing channel holds is running: it is finished, given back, or left to its lease.
    do_restore = False
    _client_of_pool: tuple[Any, Any] | None = None

    def _brpop_start(self, timeout: float | None = None) -> None:
        every = self.priority_steps
        if self._is_full_of_background():
            self.priority_steps = [step for step in every if step < BACKGROUND]
            timeout = _FULL_S
        try:
            super()._brpop_start(timeout)  # type: ignore[misc]
        finally:
            self.priority_steps = every

    def _brpop_read(self, **options: Any) -> Any:
        transport: Transport = self.connection  # type: ignore[assignment]  # named in Transport below
        transport.is_delivering = False
        try:
            return super()._brpop_read(**options)  # type: ignore[misc]
        except (ValueError, RecursionError):
            if transport.is_delivering:
                raise
            log.warning("message_dropped", why="no JSON")
            return True

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
    is_delivering = False
    """What was read is a message, so that an error is not of its form."""

    def _deliver(self, message: Any, queue: str | None) -> None:
        why = why_no_envelope(message)
        if why is not None:
            log.warning("message_dropped", why=why)
            return
        self.is_delivering = True
        super()._deliver(message, queue)


def list_of(queue: str, priority: int) -> str:
    """The list in which messages of a queue with a priority wait, without the prefix of keys."""
    return f"{queue}{Channel.sep}{priority}" if priority else queue
