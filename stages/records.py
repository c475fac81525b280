"""Files parsed with line numbers: rows of columns, and one record a line, with all their problems at once."""

import csv
import io
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from pydantic import ValidationError

from schemas.errors import Refused
from schemas.values.participants import FileProblem
from stages.texts.characters import first_lines

T_co = TypeVar("T_co", covariant=True)


class Parsed(NamedTuple, Generic[T_co]):
    """What could be parsed, and the problems. With problems the value is partial and only usable for further checks."""

    value: T_co
    problems: tuple[FileProblem, ...] = ()


class ProblemsFound(Refused):
    """Files that cannot be used; `problems` has each problem, the message the first twenty."""

    slug = "files-unusable"

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
        yield FileProblem(file, line, found, what_to_do)


def accept(parsed: Parsed[T_co], *, of: str = "data set", consequence: str = "nothing was imported") -> T_co:
    """The value, if there are no problems. Raises ProblemsFound with all problems otherwise."""
    if parsed.problems:
        raise ProblemsFound(parsed.problems, of=of, consequence=consequence)
    return parsed.value


NumberedLines = tuple[tuple[int, str], ...]
"""Lines, each after its number from 1."""


def numbered_lines(data: bytes, *, file: str, what_to_do: str) -> Parsed[NumberedLines]:
    r"""Every line that is not blank. A byte order mark is ignored. A file that is not UTF-8, or has no such line, is a
    problem; for the latter, `what_to_do` is the advice.

    >>> numbered_lines(b"one\r\n\ntwo", file="a.txt", what_to_do="write a word a line").value
    ((1, 'one'), (3, 'two'))
    """
    text, problems = _decoded(data, file)
    found = enumerate(text.split("\n"), start=1)
    lines = tuple((number, line.rstrip("\r")) for number, line in found if line.strip())
    if not problems and not lines:
        problems = (FileProblem(file, None, "is empty", what_to_do),)
    return Parsed(lines, problems)


def _decoded(data: bytes, file: str) -> Parsed[str]:
    try:
        return Parsed(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Parsed("", (FileProblem(file, line, "is not UTF-8", "save it as UTF-8"),))


Row = tuple[int, dict[str, str]]
"""The number of a line, and its raw cells by column. A cell beyond the end of the line is empty."""


def parse_rows(
    data: bytes, *, file: str, columns: Sequence[str], by_tabs: bool = False, header: Sequence[str] | None = None
) -> Parsed[tuple[Row, ...]]:
    r"""Read the requested columns of every row that is not blank; further columns are ignored.

    Cells are separated by commas, and may be quoted; or `by_tabs`, where a double quote is a character like any other.
    `header` names the columns of a file without a header line. A byte order mark is ignored. Problems name the file and
    the line, and never a cell. Of a header in TABs they show only known names, because a transcript without a header
    starts with speech.

    >>> parse_rows(b"id,name\n7,x\n", file="a.csv", columns=["id"]).value
    ((2, {'id': '7'}),)
    """
    text, of_text = _decoded(data, file)
    if of_text:
        return Parsed((), of_text)
    source = io.StringIO(text, newline="\n")
    lines = csv.reader(source, delimiter="\t", quoting=csv.QUOTE_NONE) if by_tabs else csv.reader(source, strict=True)
    try:
        numbered = [(lines.line_num, cells) for cells in lines]
    except csv.Error as error:
        found = f"cannot be split into cells ({error})"
        what_to_do = "correct the quotes, the line end or the length of a cell there"
        return Parsed((), (FileProblem(file, lines.line_num, found, what_to_do),))
    if header is None:
        named = [name.strip() for name in numbered.pop(0)[1]] if numbered else []
        if wrong := tuple(_header_problems(named, file=file, by_tabs=by_tabs, columns=columns)):
            return Parsed((), wrong)
    else:
        named = list(header)
    body = [(line, cells) for line, cells in numbered if any(cell.strip() for cell in cells)]
    problems = [problem for line, cells in body for problem in _row_problems(cells, named, file=file, line=line)]
    position = {name: named.index(name) for name in columns}
    rows = ((line, {name: "".join(cells[at : at + 1]) for name, at in position.items()}) for line, cells in body)
    return Parsed(tuple(rows), tuple(problems))


def _row_problems(cells: list[str], header: list[str], *, file: str, line: int) -> Iterator[FileProblem]:
    if len(cells) > len(header):
        found = f"has {len(cells)} cells under {len(header)} columns"
        yield FileProblem(file, line, found, "remove the extra separators")
    if any("\0" in cell for cell in cells):
        found = "contains a NUL character, which Postgres cannot store"
        yield FileProblem(file, line, found, "remove it")


def _header_problems(header: list[str], *, file: str, by_tabs: bool, columns: Sequence[str]) -> Iterator[FileProblem]:
    missing = [name for name in columns if name not in header]
    if missing:
        found = f"lacks the columns {', '.join(missing)} and has {_shown(header, by_tabs, columns)}"
        what_to_do = f"separate the columns with a {'TAB' if by_tabs else 'COMMA'} and name them in the first line"
        yield FileProblem(file, 1, found, what_to_do)
    twice = [name for name in columns if header.count(name) > 1]
    if twice:
        found = f"has the columns {', '.join(twice)} more than once"
        yield FileProblem(file, 1, found, "keep one of each")


def _shown(header: list[str], by_tabs: bool, columns: Sequence[str]) -> str:
    expected = {name.casefold() for name in columns}
    shown = [name[:40] for name in header if not by_tabs or name.casefold() in expected]
    others = len(header) - len(shown)
    return ", ".join([*shown, *([f"{others} of other names"] if others else [])]) or "none"


class WithId(Protocol):
    """What has an id."""

    @property
    def id(self) -> Hashable: ...


Made = TypeVar("Made", bound=WithId)
Source = TypeVar("Source")


def parse_records(
    read: Callable[[Source], Made], sources: Parsed[Iterable[tuple[int, Source]]], *, file: str, what_to_do: str
) -> Parsed[tuple[Made, ...]]:
    """The record of each line or row, as `read` makes it of its text or cells. Problems are those of the sources, what
    pydantic refuses, and ids that an earlier one has. They name the line, never its content."""
    problems = [*sources.problems]
    records: list[Made] = []
    line_of: dict[Hashable, int] = {}
    for line, source in sources.value:
        try:
            record = read(source)
        except ValidationError as error:
            problems += validation_problems(error, file=file, line=line, what_to_do=what_to_do)
            continue
        first = line_of.setdefault(record.id, line)
        if first != line:
            problems.append(FileProblem(file, line, f"has the id of line {first}", "keep one of the two"))
        records.append(record)
    return Parsed(tuple(records), tuple(problems))
