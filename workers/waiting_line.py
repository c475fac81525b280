"""The stages of one process that wait for a server, in order: who waits for longest is first."""

import bisect
import itertools
from typing import NamedTuple


class Place(NamedTuple):
    """A place in a line. Times are compared alone, so any clock will do."""

    since: float
    number: int


class WaitingLine:
    """A line in which a stage that came back stands where it stood, before all who came later."""

    def __init__(self) -> None:
        self._places: list[Place] = []
        self._numbers = itertools.count()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._places)

    def join(self, since: float) -> Place:
        """A place for somebody who waits since then."""
        place = Place(since, next(self._numbers))
        bisect.insort(self._places, place)
        return place

    def leave(self, place: Place) -> None:
        """Give a place up."""
        self._places.remove(place)

    def before(self, place: Place) -> int:
        """How many stand before a place; 0 when it is its turn."""
        return bisect.bisect_left(self._places, place)
