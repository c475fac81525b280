"""Files of one record a line, each with an id of its own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pydantic import BeforeValidator, ValidationError

from schemas.repeatable import Each, Repeatable
from schemas.values.interviews import FileProblem
from stages.files.numbered_lines import NumberedLines, numbered_lines
from stages.files.problems import Parsed, validation_problems


class WithId(Protocol):
    """What has an id."""

    @property
    def id(self) -> str: ...


NumberAsText = BeforeValidator(lambda given: str(given) if type(given) is int else given)
"""Has pydantic read a whole number as its digits, for ids."""

Record = TypeVar("Record", bound=WithId)


def parse_records(
    read: Callable[[int, str], Record], data: bytes, *, file: str, what_to_do: str
) -> Parsed[tuple[Record, ...]]:
    """The record of each line that is not blank, as `read` makes it of its place among them, from 1, and its text.

    Problems are what pydantic refuses and ids that an earlier line has. They name the line, never its content.
    """
    lines, problems = numbered_lines(data, file=file, what_to_do=what_to_do)
    found = [*problems]
    records = tuple(_records(read, lines, found, file=file, what_to_do=what_to_do))
    return Parsed(records, tuple(found))


def parse_repeatedly(
    read: Callable[[int, str], Record], data: bytes, *, file: str, what_to_do: str
) -> Parsed[Repeatable[Record]]:
    """Like `parse_records`, for files of a million lines: each record is read again whenever it is asked for."""
    lines, problems = numbered_lines(data, file=file, what_to_do=what_to_do)
    found = [*problems]
    count = sum(1 for _ in _records(read, lines, found, file=file, what_to_do=what_to_do))
    if found:
        return Parsed((), tuple(found))
    return Parsed(Each(_Places(lines, count), lambda placed: read(*placed)))


@dataclass(frozen=True)
class _Places:
    """The texts of lines, each with its place among them."""

    lines: NumberedLines
    count: int

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return ((place, text) for place, (_, text) in enumerate(self.lines, start=1))


def _records(
    read: Callable[[int, str], Record],
    lines: NumberedLines,
    problems: list[FileProblem],
    *,
    file: str,
    what_to_do: str,
) -> Iterator[Record]:
    line_of: dict[str, int] = {}
    for place, (line, text) in enumerate(lines, start=1):
        try:
            record = read(place, text)
        except ValidationError as error:
            problems += validation_problems(error, file=file, line=line, what_to_do=what_to_do)
            continue
        first = line_of.setdefault(record.id, line)
        if first != line:
            repeated = f"has the id of line {first}"
            problems.append(
                FileProblem(file=file, line=line, found=repeated, what_to_do="give each line an id of its own")
            )
        yield record
