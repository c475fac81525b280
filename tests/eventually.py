"""Waiting for what another process does."""

import time
from collections.abc import Callable


def eventually(is_so: Callable[[], bool], *, timeout_s: float = 60.0) -> None:
    """Wait until a condition holds, and fail after a time limit."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline, "It never became so."
        time.sleep(0.02)
