"""Results of parsing, with all problems instead of only the first."""

from collections.abc import Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from pydantic import ValidationError

from schemas.errors import Refused
from schemas.values.interviews import FileProblem
from stages.texts.listed import first_lines

T_co = TypeVar("T_co", covariant=True)


class Parsed(NamedTuple, Generic[T_co]):
    """What could be parsed, and the problems. With problems the value is partial and only usable for further checks."""

    value: T_co
    problems: tuple[FileProblem, ...] = ()


class ProblemsFound(Refused):
    """Files that cannot be used; `problems` has each problem, the message the first twenty."""

    def __init__(
        self, problems: Iterable[FileProblem], *, of: str = "data set", consequence: str = "nothing was imported"
    ) -> None:
        self.problems = tuple(problems)
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__(f"The {of} has {count}; {consequence}.\n{first_lines(self.problems)}")


def validation_problems(
    error: ValidationError, *, file: str, line: int | None, what_to_do: str
) -> Iterator[FileProblem]:
    """A problem for each mistake that pydantic found. They show no value and no unknown name of the file."""
    for mistake in error.errors(include_input=False, include_url=False, include_context=False):
        where = "" if mistake["type"] == "extra_forbidden" else ".".join(map(str, mistake["loc"]))
        found = f"{where}: {mistake['msg']}" if where else mistake["msg"]
        yield FileProblem(file=file, line=line, found=found, what_to_do=what_to_do)


def accept(parsed: Parsed[T_co]) -> T_co:
    """The value, if there are no problems. Raises ProblemsFound with all problems otherwise."""
    if parsed.problems:
        raise ProblemsFound(parsed.problems)
    return parsed.value
