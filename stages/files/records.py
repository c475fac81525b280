"""Files of one record a line, each with an id of its own."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from pydantic import BeforeValidator, ValidationError

from schemas.values.interviews import FileProblem
from stages.files.numbered_lines import numbered_lines
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
    lines, of_file = numbered_lines(data, file=file, what_to_do=what_to_do)
    problems = [*of_file]
    records: list[Record] = []
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
        records.append(record)
    return Parsed(tuple(records), tuple(problems))
