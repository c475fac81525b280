"""How much other work is sent while somebody waits: a quarter of what was sent before, so that processors are free."""

import math
from typing import Final

#: How long a job that was sent is thought to be waited for, in case it cannot finish.
AWAITED_SECONDS: Final = 20.0
#: The part of its pace that other work keeps.
_KEPT: Final = 0.25
#: Jobs a second that other work keeps at least.
_LEAST: Final = 4.0
#: The pace is that of about so many seconds.
_OVER_S: Final = 2.0


class Yielding:
    """The pace of other work, and what it may send now."""

    def __init__(self) -> None:
        self._pace = 0.0
        self._allowance = 0.0
        self._seen_s: float | None = None

    def allowance(self, now_s: float, *, is_awaited: bool) -> int | None:
        """How many jobs that are not interactive may be sent now; None for any number.

        >>> yielding = Yielding()
        >>> yielding.allowance(0, is_awaited=False)
        >>> yielding.sent(400, is_awaited=False)
        >>> [yielding.allowance(at_s, is_awaited=True) for at_s in (0, 0.1, 0.2)]
        [0, 5, 10]
        """
        passed_s = 0.0 if self._seen_s is None else max(0.0, now_s - self._seen_s)
        self._seen_s = now_s
        if not is_awaited:
            self._pace *= math.exp(-passed_s / _OVER_S)
            self._allowance = 0.0
            return None
        rate = max(_LEAST, _KEPT * self._pace)
        self._allowance = min(self._allowance + rate * passed_s, rate)
        return int(self._allowance)

    def sent(self, count: int, *, is_awaited: bool) -> None:
        """Other work was sent."""
        if is_awaited:
            self._allowance -= count
        else:
            self._pace += count / _OVER_S
