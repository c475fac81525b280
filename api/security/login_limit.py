"""The limit of login attempts."""

import math
import time
from typing import Final

from fastapi import HTTPException
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.requests import HTTPConnection

TRIES: Final = RateLimitItemPerMinute(10)


class LoginLimit:
    """Limits the login attempts of an address to 10 in any minute.

    Each process counts for itself. A token of 256 bits cannot be guessed at any rate, and a count that all processes
    share would make login depend on one more server.
    """

    def __init__(self) -> None:
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def note(self, connection: HTTPConnection) -> None:
        """Count an attempt of the client's address. Raises HTTPException for one too many."""
        address = "" if connection.client is None else connection.client.host
        if not self._limiter.hit(TRIES, address):
            opens_at = self._limiter.get_window_stats(TRIES, address).reset_time
            wait_s = max(1, math.ceil(opens_at - time.time()))
            raise HTTPException(
                429, f"Too many login attempts. Try again in {wait_s} s.", headers={"Retry-After": str(wait_s)}
            )
