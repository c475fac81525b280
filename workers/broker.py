"""The Redis transport of kombu without its record of unacknowledged messages.

kombu keeps a copy of every message that a worker holds in the broker, so that it can be sent again. Here a message is
a hint: the row of a stage says whether it is due, whoever held a message for it. So messages are counted in memory
alone, a broker that goes away takes nothing with it, and a stage costs two transactions of the broker less. The
channel below also keeps one client per pool, which kombu makes anew for every single command, and keeps threads of a
worker free of indexing.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import structlog
from celery import bootsteps
from celery.worker.consumer import Consumer
from celery.worker.consumer.events import Events
from kombu import Message
from kombu.transport import redis as kombu_redis

from schemas.chains import INDEXING, STAGES
from schemas.statuses import Priority

#: Work that somebody waits for.
FIRST: Final = 0
#: Sets of work.
NORMAL: Final = 6
#: Indexing, which may be hours of work: it takes what the other work leaves.
BACKGROUND: Final = 9
PRIORITIES: Final = (FIRST, NORMAL, BACKGROUND)
"""Lower comes first, as in the Redis transport of Celery, which has a list per queue and priority."""


def priority_of(kind: str, priority: Priority = Priority.INTERACTIVE) -> int:
    """That of the jobs of a kind in a run of a priority; in the passes of a model only the kind counts."""
    if kind in INDEXING:
        return BACKGROUND
    return FIRST if priority is Priority.INTERACTIVE else NORMAL


# Celery's consumer would end at some messages, and keep others in memory until a far day.

log = structlog.get_logger("ragq.broker")

_TASKS: Final = frozenset(f"ragq.{stage}" for stage in STAGES)


def is_envelope(message: Any) -> bool:
    """Whether kombu can take what lies in a list of Redis."""
    if not isinstance(message, dict):
        return False
    headers, properties = message.get("headers"), message.get("properties")
    return (
        isinstance(message.get("body"), str)
        and isinstance(headers, dict)
        and not headers.get("compression")
        and isinstance(properties, dict)
        and isinstance(properties.get("delivery_info"), dict)
        and isinstance(properties.get("delivery_tag"), str)
        and properties.get("body_encoding") == "base64"
    )


def is_fit(message: Message) -> bool:
    """Whether ragq sends such messages."""
    headers = message.headers
    if not isinstance(headers, dict) or headers.get("task") not in _TASKS:
        return False
    if headers.get("eta") or headers.get("expires") or headers.get("compression"):
        return False
    if message.content_type != "application/json" or message.content_encoding != "utf-8":
        return False
    # A chain of ragq has a few thousand bytes.
    if not isinstance(message.body, str | bytes) or len(message.body) > 1_000_000:
        return False
    try:
        positional, named, embedded = json.loads(message.body)
    except (ValueError, TypeError, RecursionError):
        return False
    job = named.get("job") if isinstance(named, dict) and isinstance(embedded, dict) else None
    return positional == [] and type(job) is int and 0 < job < 2**63


def checked(handle: Callable[[Message], None]) -> Callable[[Message], None]:
    """What a worker does with a message: as before, and drops one that is unfit."""

    def receive(message: Message) -> None:
        if is_fit(message):
            handle(message)
            return
        log.warning("message_dropped", reason="no task of ragq")
        message.ack()

    return receive


class CheckingConsumer(Consumer):
    """Celery's consumer, which receives messages of ragq alone."""

    def create_task_handler(self, *args: Any, **kwargs: Any) -> Callable[[Message], None]:
        return checked(super().create_task_handler(*args, **kwargs))


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
            log.warning("message_dropped", reason="no JSON")
            return True

    def _is_full_of_background(self) -> bool:
        """Whether as many messages of indexing are unfinished as the worker takes at once, so that it waits for others.
        The next of them is taken _FULL_S after one of them ends at the latest, when the wait for others is over."""
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
        if not is_envelope(message):
            log.warning("message_dropped", reason="no message of Celery", queue=queue)
            return
        self.is_delivering = True
        super()._deliver(message, queue)


def list_of(queue: str, priority: int) -> str:
    """The list in which messages of a queue with a priority wait, without the prefix of keys."""
    return f"{queue}{Channel.sep}{priority}" if priority else queue


# Celery sends the events of a task one by one as soon as its loop turns, and each costs as much as a message of the
# chain. Kept for a moment, those of many tasks travel together.


class BatchedEvents(bootsteps.StartStopStep):
    """A step of the consumer: events of tasks are sent when a batch is full, and at the latest after the delay."""

    requires = (Events,)
    _flushing: Any = None

    def start(self, consumer: Any) -> None:
        """After each connection to the broker, which brings a new dispatcher."""
        dispatcher = consumer.event_dispatcher
        dispatcher.on_send_buffered = None
        # A monitor sees what happened at most so many seconds later.
        self._flushing = consumer.timer.call_repeatedly(0.25, dispatcher.flush)

    def stop(self, consumer: Any) -> None:
        """Flush before the connection closes, because unsent events would be lost with it."""
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
