"""Events for Flower and other monitors, in batches.

Celery sends the events of a task one by one as soon as its loop turns, and each costs as much as a message of the
chain. Kept for a moment, those of many tasks travel together.
"""

from typing import Any

from celery import bootsteps
from celery.worker.consumer.events import Events

#: A monitor sees what happened at most this much later.
LONGEST_DELAY_SECONDS = 0.25


class BatchedEvents(bootsteps.StartStopStep):
    """A step of the consumer: events of tasks are sent when a batch is full, and at the latest after the delay."""

    requires = (Events,)

    def __init__(self, consumer: Any, **options: Any) -> None:
        super().__init__(consumer, **options)
        self._flushing: Any = None

    def start(self, consumer: Any) -> None:
        """After each connection to the broker, which brings a new dispatcher."""
        dispatcher = consumer.event_dispatcher
        dispatcher.on_send_buffered = None
        self._flushing = consumer.timer.call_repeatedly(LONGEST_DELAY_SECONDS, dispatcher.flush)

    def stop(self, consumer: Any) -> None:
        """Flush before the connection closes, because unsent events would be lost with it."""
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
