"""Files of rows and columns, read with line numbers and without losing a row."""

import csv
import io
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from schemas.values.interviews import FileProblem
from stages.files.problems import Parsed


class Separator(StrEnum):
    """What stands between two cells."""

    COMMA = ","
    """Cells may be quoted."""
    TAB = "\t"
    """Nothing is quoted: a double quote is a character that someone wrote down."""


class DelimitedRow(NamedTuple):
    """One line of a file: the cells of the asked columns, raw. A cell that the line is too short for is empty."""

    line: int
    cells: dict[str, str]


def parse_rows(
    data: bytes, *, file: str, separator: Separator, columns: Sequence[str], header: Sequence[str] | None = None
) -> Parsed[tuple[DelimitedRow, ...]]:
    r"""Read the asked columns of every row that is not blank; further columns are tolerated and left out.

    `header` names the columns of a file whose first line is a row already. A byte order mark is tolerated. Problems
    name the file and the line, and never a cell. A header in TABs is told only as far as its names are known: a
    transcript without a header starts with what was said.

    >>> parse_rows(b"id,name\n7,x\n", file="a.csv", separator=Separator.COMMA, columns=["id"]).value
    (DelimitedRow(line=2, cells={'id': '7'}),)
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Parsed((), (FileProblem(file=file, line=line, found="is not UTF-8", what_to_do="save it as UTF-8"),))
    source = io.StringIO(text, newline="\n")
    if separator is Separator.TAB:
        lines = csv.reader(source, delimiter=separator.value, quoting=csv.QUOTE_NONE)
    else:
        lines = csv.reader(source, delimiter=separator.value, strict=True)
    try:
        numbered = [(lines.line_num, cells) for cells in lines]
    except csv.Error as error:
        found = f"cannot be cut into cells ({error})"
        what_to_do = "correct the quotes, the line end or the length of a cell there"
        return Parsed((), (FileProblem(file=file, line=lines.line_num, found=found, what_to_do=what_to_do),))
    if header is None:
        named = [name.strip() for name in numbered[0][1]] if numbered else []
        numbered = numbered[1:]
        header_problems = tuple(_header_problems(named, file=file, separator=separator, columns=columns))
        if header_problems:
            return Parsed((), header_problems)
    else:
        named = list(header)
    body = [(line, cells) for line, cells in numbered if any(cell.strip() for cell in cells)]
    problems = [problem for line, cells in body for problem in _row_problems(cells, named, file=file, line=line)]
    position = {name: named.index(name) for name in columns}
    rows = (
        DelimitedRow(line, {name: "".join(cells[at : at + 1]) for name, at in position.items()}) for line, cells in body
    )
    return Parsed(tuple(rows), tuple(problems))


def _row_problems(cells: list[str], header: list[str], *, file: str, line: int) -> Iterator[FileProblem]:
    if len(cells) > len(header):
        found = f"has {len(cells)} cells under {len(header)} columns"
        yield FileProblem(file=file, line=line, found=found, what_to_do="remove the extra separators")
    if any("\0" in cell for cell in cells):
        found = "holds a NUL character, which Postgres cannot store"
        yield FileProblem(file=file, line=line, found=found, what_to_do="remove it")


def _header_problems(
    header: list[str], *, file: str, separator: Separator, columns: Sequence[str]
) -> Iterator[FileProblem]:
    missing = [name for name in columns if name not in header]
    if missing:
        found = f"lacks the columns {', '.join(missing)} and has {_told(header, separator, columns)}"
        what_to_do = f"separate the columns with a {separator.name} and name them in the first line"
        yield FileProblem(file=file, line=1, found=found, what_to_do=what_to_do)
    twice = [name for name in columns if header.count(name) > 1]
    if twice:
        found = f"has the columns {', '.join(twice)} more than once"
        yield FileProblem(file=file, line=1, found=found, what_to_do="keep one of each")


def _told(header: list[str], separator: Separator, columns: Sequence[str]) -> str:
    """The names in a header that may be told, and how many others there are."""
    expected = {name.casefold() for name in columns}
    told = [name[:40] for name in header if separator is Separator.COMMA or name.casefold() in expected]
    others = len(header) - len(told)
    return ", ".join([*told, *([f"{others} of other names"] if others else [])]) or "none"
