"""Whether the clock of the database was set back."""

import math
from typing import Final

_TOLERATED_S: Final = 1.0


class DatabaseClock:
    """Compares the database's clock with the one of this machine that never runs backwards."""

    def __init__(self) -> None:
        self._ahead_s = math.inf

    def was_set_back(self, database_s: float, monotonic_s: float) -> bool:
        """Whether it was set back by more than a second since the last call; at the first call that is not known: True.

        >>> clock = DatabaseClock()
        >>> [clock.was_set_back(database_s, at_s) for at_s, database_s in enumerate([100, 101, 50, 51, 90])]
        [True, False, True, False, False]
        """
        before, self._ahead_s = self._ahead_s, database_s - monotonic_s
        return self._ahead_s < before - _TOLERATED_S
