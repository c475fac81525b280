"""How long the database took in a piece of work."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final


class DatabaseTime:
    """Seconds in which at least one call of the database was under way, of calls that ended."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._under_way = 0
        self._began = 0.0

    @contextmanager
    def call(self) -> Iterator[None]:
        """Counts until the end of the block, once for calls at the same time."""
        if not self._under_way:
            self._began = time.perf_counter()
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self.seconds += time.perf_counter() - self._began


_CURRENT: Final[ContextVar[DatabaseTime | None]] = ContextVar("database_time", default=None)


@contextmanager
def measured() -> Iterator[DatabaseTime]:
    """Measures the calls of this task, and of the tasks that it starts, until the end of the block."""
    found = DatabaseTime()
    token = _CURRENT.set(found)
    try:
        yield found
    finally:
        _CURRENT.reset(token)


@contextmanager
def counted_call() -> Iterator[None]:
    """A call of the database, which counts where it is measured."""
    current = _CURRENT.get()
    if current is None:
        yield
        return
    with current.call():
        yield
