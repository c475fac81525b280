"""Parsing that reports everything that is wrong at once, instead of stopping at the first mistake."""

from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

from schemas.errors import Refused
from schemas.values.interviews import Problem

T_co = TypeVar("T_co", covariant=True)


class Parsed(NamedTuple, Generic[T_co]):
    """What could be read, and what is wrong. With problems the value is partial and only good for further checks."""

    value: T_co
    problems: tuple[Problem, ...] = ()


class ProblemsFound(Refused):
    """Files that cannot be used; `problems` holds each one, the message has a line for each."""

    def __init__(
        self, problems: Iterable[Problem], *, of: str = "data set", consequence: str = "nothing was imported"
    ) -> None:
        self.problems = tuple(problems)
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(f"The {of} has {count}; {consequence}.\n{lines}")


def accept(parsed: Parsed[T_co]) -> T_co:
    """The value, if nothing is wrong with it. Raises ProblemsFound with all problems otherwise."""
    if parsed.problems:
        raise ProblemsFound(parsed.problems)
    return parsed.value
