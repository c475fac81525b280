"""Events for monitors are sent in batches."""

from types import SimpleNamespace
from typing import Any

from celery import Celery
from celery.events import EventDispatcher
from kombu.asynchronous.timer import Timer

from workers.broker import BatchedEvents


class Producer:
    """Records the number of events in each message."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def publish(self, events: list[dict[str, Any]], **_: Any) -> None:
        self.sizes.append(len(events))


def consumer_with(producer: Producer) -> SimpleNamespace:
    app = Celery(broker="memory://")
    dispatcher: Any = EventDispatcher(app.connection(), app=app, buffer_group=["task"], on_send_buffered=lambda: 1 / 0)
    dispatcher.producer = producer
    return SimpleNamespace(event_dispatcher=dispatcher, timer=Timer())


def test_events_of_tasks_are_sent_together_after_the_delay() -> None:
    producer = Producer()
    consumer = consumer_with(producer)
    BatchedEvents(consumer).start(consumer)

    for kind in ("task-received", "task-started", "task-succeeded"):
        consumer.event_dispatcher.send(kind, uuid="j1:embed:1")
    assert producer.sizes == []
    (due,) = consumer.timer.queue
    due.entry()

    assert producer.sizes == [3]


def test_a_full_batch_does_not_wait() -> None:
    producer = Producer()
    consumer = consumer_with(producer)
    BatchedEvents(consumer).start(consumer)

    for _ in range(consumer.event_dispatcher.buffer_limit):
        consumer.event_dispatcher.send("task-received", uuid="j1:embed:1")

    assert producer.sizes == [24]


def test_nothing_is_sent_by_the_clock_of_a_lost_connection() -> None:
    consumer = consumer_with(Producer())
    step = BatchedEvents(consumer)
    step.start(consumer)
    (due,) = consumer.timer.queue

    step.stop(consumer)

    assert due.entry.canceled
