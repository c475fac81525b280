"""Files of rows and columns, parsed with line numbers."""

import csv
import io
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from schemas.values.interviews import FileProblem
from stages.files.problems import Parsed


class Separator(StrEnum):
    """The character between two cells."""

    COMMA = ","
    """Cells may be quoted."""
    TAB = "\t"
    """Nothing is quoted: a double quote is a character like any other."""


class DelimitedRow(NamedTuple):
    """One line of a file: the raw cells of the requested columns. A cell beyond the end of the line is empty."""

    line: int
    cells: dict[str, str]


def parse_rows(
    data: bytes, *, file: str, separator: Separator, columns: Sequence[str], header: Sequence[str] | None = None
) -> Parsed[tuple[DelimitedRow, ...]]:
    r"""Read the requested columns of every row that is not blank; further columns are ignored.

    `header` names the columns of a file without a header line. A byte order mark is ignored. Problems name the file and
    the line, and never a cell. Of a header in TABs they show only known names, because a transcript without a header
    starts with speech.

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
        found = f"cannot be split into cells ({error})"
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
        found = "contains a NUL character, which Postgres cannot store"
        yield FileProblem(file=file, line=line, found=found, what_to_do="remove it")


def _header_problems(
    header: list[str], *, file: str, separator: Separator, columns: Sequence[str]
) -> Iterator[FileProblem]:
    missing = [name for name in columns if name not in header]
    if missing:
        found = f"lacks the columns {', '.join(missing)} and has {_shown(header, separator, columns)}"
        what_to_do = f"separate the columns with a {separator.name} and name them in the first line"
        yield FileProblem(file=file, line=1, found=found, what_to_do=what_to_do)
    twice = [name for name in columns if header.count(name) > 1]
    if twice:
        found = f"has the columns {', '.join(twice)} more than once"
        yield FileProblem(file=file, line=1, found=found, what_to_do="keep one of each")


def _shown(header: list[str], separator: Separator, columns: Sequence[str]) -> str:
    """The names in a header that may be shown, and the number of others."""
    expected = {name.casefold() for name in columns}
    shown = [name[:40] for name in header if separator is Separator.COMMA or name.casefold() in expected]
    others = len(header) - len(shown)
    return ", ".join([*shown, *([f"{others} of other names"] if others else [])]) or "none"
