"""Things that are gone through more than once and need not be in memory together."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)
Source = TypeVar("Source")
Made = TypeVar("Made")


class Repeatable(Protocol[T_co]):
    """Things in their order. They may be made anew each time they are gone through."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[T_co]: ...


@dataclass(frozen=True)
class Each(Generic[Source, Made]):
    """What a function makes of each thing, whenever it is asked for.

    >>> doubled = Each([1, 2], lambda number: 2 * number)
    >>> len(doubled), list(doubled), list(doubled)
    (2, [2, 4], [2, 4])
    """

    source: Repeatable[Source] = field(repr=False)
    make: Callable[[Source], Made]

    def __len__(self) -> int:
        return len(self.source)

    def __iter__(self) -> Iterator[Made]:
        return map(self.make, self.source)
