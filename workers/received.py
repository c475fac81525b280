"""Messages of the broker that are none of ragq's: each is dropped with one line of the log, and the worker lives.

A message is a hint, so nothing is lost with one: what is due is sent again from its row. Celery's consumer would end at
some, and keep others in memory until a far day.
"""

import json
from collections.abc import Callable
from typing import Any, Final

import structlog
from celery.worker.consumer import Consumer
from kombu import Message

from schemas.chains import STAGES

log = structlog.get_logger("ragq.broker")

_TASKS: Final = frozenset(f"ragq.{stage}" for stage in STAGES)
_LARGEST: Final = 1_000_000
"""Bytes of a body; a chain of ragq has a few thousand."""
_BIGGEST_ID: Final = 2**63 - 1


def why_no_envelope(message: Any) -> str | None:
    """What is wrong with what lies in a list of Redis; None for what kombu can take."""
    if not isinstance(message, dict):
        return "no object"
    properties = message.get("properties")
    if not isinstance(message.get("body"), str) or not isinstance(message.get("headers"), dict):
        return "no body or no headers"
    if not isinstance(properties, dict) or not isinstance(properties.get("delivery_info"), dict):
        return "no properties"
    if message["headers"].get("compression"):
        return "a compression, which no message of ragq has"
    if not isinstance(properties.get("delivery_tag"), str) or properties.get("body_encoding") != "base64":
        return "another form"
    return None


def why_unfit(message: Message) -> str | None:
    """Why a message is none that ragq sends; None for one that is. Its words are never in the answer."""
    headers = message.headers
    if not isinstance(headers, dict) or headers.get("task") not in _TASKS:
        return "no task of ragq"
    if headers.get("eta") or headers.get("expires") or headers.get("compression"):
        return "a time or a compression, which no message of ragq has"
    if message.content_type != "application/json" or message.content_encoding != "utf-8":
        return "no JSON by its type"
    if not isinstance(message.body, str | bytes) or len(message.body) > _LARGEST:
        return "no body, or a large one"
    try:
        positional, named, embedded = json.loads(message.body)
    except (ValueError, TypeError, RecursionError):
        return "no three arguments in JSON"
    if positional != [] or not isinstance(named, dict) or not isinstance(embedded, dict):
        return "other arguments"
    job = named.get("job")
    if type(job) is not int or not 0 < job <= _BIGGEST_ID:
        return "no job"
    return None


def checked(handle: Callable[[Message], None]) -> Callable[[Message], None]:
    """What a worker does with a message: as before, and drops one that is unfit."""

    def receive(message: Message) -> None:
        why = why_unfit(message)
        if why is None:
            handle(message)
            return
        log.warning("message_dropped", why=why)
        message.ack()

    return receive


class CheckingConsumer(Consumer):
    """Celery's consumer, which receives messages of ragq alone."""

    def create_task_handler(self, *args: Any, **kwargs: Any) -> Callable[[Message], None]:
        """See Consumer."""
        return checked(super().create_task_handler(*args, **kwargs))
