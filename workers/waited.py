"""How long a stage waited in a queue of its process: for a model that loads, or works for others. That is no work."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final


class Waited:
    """Seconds that one piece of work waited."""

    def __init__(self) -> None:
        self.seconds = 0.0


_CURRENT: Final[ContextVar[Waited | None]] = ContextVar("waited", default=None)


@contextmanager
def measured() -> Iterator[Waited]:
    """Collects what this task, and those it starts, waited until the end of the block; for a block around it too."""
    found = Waited()
    token = _CURRENT.set(found)
    try:
        yield found
    finally:
        _CURRENT.reset(token)
        add(found.seconds)


def add(seconds: float) -> None:
    """Note that the current piece of work waited so long."""
    current = _CURRENT.get()
    if current is not None:
        current.seconds += seconds
