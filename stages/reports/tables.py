"""A result for readers: one value that a terminal, a page, a paper and a spreadsheet draw, each in its way."""

import csv
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from io import StringIO
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias

from schemas.values.base import Row
from schemas.values.scoring import Interval
from stages.reports.words import bounds, number, percent


class Figure(NamedTuple):
    """A number, with its interval where it has one."""

    number: Interval | float | None
    digits: int = 3
    is_share: bool = False
    """Shown in per cent."""
    is_difference: bool = False
    """Emphasised where its interval is without 0."""

    @property
    def value(self) -> str:
        """The number in words."""
        found = self.number.value if isinstance(self.number, Interval) else self.number
        return percent(found) if self.is_share else number(found, self.digits)

    @property
    def bounds(self) -> str:
        """The interval in words; empty without one."""
        if not isinstance(self.number, Interval):
            return ""
        return bounds(self.number, 1, scale=100) if self.is_share else bounds(self.number, self.digits)

    @property
    def is_clear(self) -> bool:
        """Whether it is a difference whose interval is without 0."""
        if not (self.is_difference and isinstance(self.number, Interval)):
            return False
        low, high = self.number.low, self.number.high
        return low is not None and high is not None and low * high > 0

    def __str__(self) -> str:
        return f"{self.value} {self.bounds}".rstrip()


#: Where pages stand, but for those of questions, which are under /rag.
UI: Final = "/ui"


class Ref(NamedTuple):
    """The name of something that has a page."""

    name: str
    address: str
    """Of its page, without a host."""

    def __str__(self) -> str:
        return self.name


class Moment(NamedTuple):
    """A time of UTC, to the minute."""

    at: datetime

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M}"


StateKind: TypeAlias = Literal["good", "wait", "bad", "idle"]


class State(NamedTuple):
    """What state something is in, and whether that is good."""

    words: str
    kind: StateKind

    def __str__(self) -> str:
        return self.words


Cell: TypeAlias = str | int | Figure | Ref | Moment | State


class Table(NamedTuple):
    """Rows of cells, and what has to be known to read them. All texts are plain: whoever draws them escapes them."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    """Columns of words; the first is one, the others are figures."""
    is_for_papers: bool = False
    """LaTeX and Markdown have it too."""
    chosen: tuple[str, ...] = ()
    """Rows to emphasise, by their first cell."""
    is_listing: bool = False
    """There may be thousands of rows: a screen has the first ones alone."""


@dataclass(frozen=True)
class Listing(Generic[Row]):
    """A list of what is stored: a command and a page draw it, and the API replies with its rows."""

    caption: str
    columns: Mapping[str, Callable[[Row], Cell | None]]
    """The name of each column -> its cell in the line of a row; None is an empty one."""
    words: Collection[str]
    """Columns of words; the first is one, the others are figures."""
    none: str
    """What an empty list says, with commands between backticks."""

    def table(self, rows: Iterable[Row]) -> Table:
        """The lines of these rows."""
        cells = (tuple("" if (cell := of(row)) is None else cell for of in self.columns.values()) for row in rows)
        return Table(self.caption, tuple(self.columns), tuple(cells), texts=tuple(self.words))


class Remark(NamedTuple):
    """A sentence between tables."""

    words: str
    is_notice: bool = True
    """It restricts the results."""


class Sheet(NamedTuple):
    """A result: which run it is of, what has to be known, and its tables."""

    title: str
    head: str
    """What stands beside the title."""
    facts: tuple[str, ...]
    notices: tuple[str, ...]
    parts: tuple[Table | Remark, ...]
    cost: tuple[str, ...] = ()
    """What it took, a line each; a paper has none of them."""
    origin: tuple[str, ...] = ()
    """What it was computed with, a line each."""

    @property
    def tables(self) -> tuple[Table, ...]:
        """Without the remarks."""
        return tuple(part for part in self.parts if isinstance(part, Table))


def paper_tables(sheet: Sheet) -> list[Table]:
    """The tables for a paper. Their notes are whole: a table that is copied alone takes every caveat with it."""
    notes = (
        f"{sheet.title}: {'; '.join((sheet.head, *sheet.facts))}.",
        *(part.words for part in sheet.parts if isinstance(part, Remark)),
        *(f"Notice: {notice}" for notice in sheet.notices),
        *sheet.origin,
    )
    return [
        table._replace(caption=f"{table.caption}, {sheet.title}", notes=(*table.notes, *notes))
        for table in sheet.tables
        if table.is_for_papers
    ]


def by_column(caption: str, first: str, columns: Mapping[str, Mapping[str, Cell]], **others: Any) -> Table:
    """A table of columns, each with its cells by the name of their row; what a column lacks is empty."""
    names = dict.fromkeys(name for column in columns.values() for name in column)
    rows = tuple((name, *(column.get(name, "") for column in columns.values())) for name in names)
    return Table(caption, (first, *columns), rows, **others)


_COLUMNS = (
    *("result", "table", "row", "column", "value", "low", "high", "standard_error", "resamples"),
    *("notices", "origin"),
)


def as_csv(sheets: Iterable[Sheet]) -> str:
    """Strict CSV (RFC 4180), a number a row with all its digits, and with the notices and the origin of its result. A
    cell is empty where there is no number."""
    written = StringIO()
    writer = csv.writer(written)
    writer.writerow(_COLUMNS)
    for sheet in sheets:
        caveats = " ".join((*sheet.notices, *(one.words for one in sheet.parts if isinstance(one, Remark))))
        for table in sheet.tables:
            for row in table.rows:
                for column, cell in zip(table.columns[1:], row[1:], strict=True):
                    for numbers in _numbers(cell):
                        found = sheet.title, table.caption, str(row[0]), column, *numbers
                        writer.writerow((*found, caveats, " ".join(sheet.origin)))
    return written.getvalue()


def _numbers(cell: Cell) -> Iterator[tuple[Any, ...]]:
    match cell:
        case Figure(number=Interval() as found):
            yield found.value, found.low, found.high, found.std, found.resamples
        case Figure(number=value):
            yield value, None, None, None, None
        case int():
            yield cell, None, None, None, None
