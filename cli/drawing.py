"""What commands draw with rich: tables of which no cell is cut off, and words that control no terminal."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final, Self, TypeAlias

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.table import Column, Table
from rich.text import Text as RichText

Drawing: TypeAlias = RenderableType
Cell: TypeAlias = str | RichText

#: A column of longer cells holds text, which may be wrapped to this width; every other column keeps its width.
_TEXT_WIDTH: Final = 16

#: Columns between two columns of a table.
_GAP: Final = 2

#: A sign for each control character but line feeds and tabs, and for those that turn the direction of what follows: a
#: text moves no cursor, changes no colour, links to nothing and reorders no other cell.
_SIGNS: Final = {
    **{code: 0x2400 + code for code in [*range(9), *range(11, 32)]},
    **dict.fromkeys([*range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "�"),
}


class Text(RichText):
    """Words as they are, in styles: nothing in them is markup or control."""

    def __init__(self, words: str = "", style: str | Style = "", **options: Any) -> None:
        super().__init__(words.translate(_SIGNS), style, **options)

    def append(self, text: RichText | str, style: str | Style | None = None) -> Self:
        """Add words or a text."""
        super().append(text.translate(_SIGNS) if isinstance(text, str) else text, style)
        return self

    @classmethod
    def assemble(cls, *parts: str | RichText | tuple[str, str | Style], **options: Any) -> Self:
        """One text of several: plain words, words with their style, and texts."""
        whole = cls(**options)
        for part in parts:
            if isinstance(part, tuple):
                whole.append(*part)
            else:
                whole.append(part)
        return whole


class Trimmed:
    """Parts below each other, without spaces that end a line."""

    def __init__(self, *parts: Drawing) -> None:
        self._parts = [Text(part) if isinstance(part, str) else part for part in parts]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(Group(*self._parts), options, pad=False):
            while line and not line[-1].text.rstrip():
                line.pop()
            if line:
                yield from line[:-1]
                yield Segment(line[-1].text.rstrip(), line[-1].style)
            yield Segment.line()


class FittingTable(Table):
    """A table without lines, of which no cell is cut off.

    Texts in it are wrapped. If that is not enough, it becomes a list of its rows, or with `splits` several tables of
    fewer columns, each with the first.
    """

    def __init__(self, *columns: str | Column, splits: bool = False) -> None:
        super().__init__(box=None, pad_edge=False, header_style="bold")
        self.columns = [Column(column) if isinstance(column, str) else column for column in columns]
        for column in self.columns:
            column.header = _text(column.header)
        self._splits = splits

    def add_row(self, *cells: RenderableType | None, style: object = None, end_section: bool = False) -> None:
        """A cell for each column: literal words, or a text."""
        super().add_row(*map(_text, cells), style=None if style is None else str(style), end_section=end_section)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.fits(options.max_width):
            yield self._part(range(len(self.columns)), keeps_figures=True)
        elif self._splits:
            for place, indexes in enumerate(self._groups(options.max_width)):
                yield from [Text()] if place else []
                yield self._part(indexes)
        else:
            yield from self._records()

    def fits(self, width: int) -> bool:
        """Whether the table has room when its texts are wrapped and nothing else is."""
        return _beside([self._least(column) for column in self.columns]) <= width

    def _least(self, column: Column) -> int:
        return column.min_width or min(_wanted(column), _TEXT_WIDTH) if _is_text(column) else _wanted(column)

    def _part(self, indexes: Sequence[int], *, keeps_figures: bool = False) -> Table:
        columns = [self.columns[index] for index in indexes]
        part = Table(*(column.copy() for column in columns), box=None, pad_edge=False, header_style="bold")
        for copied, column in zip(part.columns, columns, strict=True):
            copied.overflow, copied.no_wrap = "fold", keeps_figures and not _is_text(column)
        for row, *cells in zip(self.rows, *(column.cells for column in columns), strict=True):
            part.add_row(*cells, style=row.style)
        return part

    def _groups(self, room: int) -> Iterator[list[int]]:
        widths = [_wanted(column) for column in self.columns]
        group = [0]
        for index in range(1, len(widths)):
            if len(group) > 1 and _beside([widths[one] for one in (*group, index)]) > room:
                yield group
                group = [0]
            group.append(index)
        yield group

    def _records(self) -> Iterator[RenderableType]:
        for row, *cells in zip(self.rows, *(column.cells for column in self.columns), strict=True):
            record = Table.grid(Column(style="dim", no_wrap=True), Column(overflow="fold"), padding=(0, _GAP))
            for column, cell in zip(self.columns, cells, strict=True):
                if _text(cell).plain:
                    record.add_row(column.header, cell, style=row.style)
            yield record
            yield Text()


class FirstThatFits:
    """The table if the terminal has room for it, or else the narrower layout."""

    def __init__(self, table: FittingTable, narrow: Drawing) -> None:
        self._table = table
        self._narrow = narrow

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._table if self._table.fits(options.max_width) else self._narrow


def spaced(parts: Iterable[Drawing]) -> Group:
    """The parts below each other, an empty line after each."""
    return Group(*(line for part in parts for line in (part, Text())))


def plain_table(*columns: str | Column) -> FittingTable:
    """A table whose columns are aligned to the left; a list of its rows where the terminal is too narrow."""
    return FittingTable(*columns)


def figure_table(first: str, *columns: str, texts: Collection[str] = ()) -> FittingTable:
    """A table of which `first` and `texts` are aligned to the left, columns of figures to the right.

    Where the terminal is too narrow, it becomes several tables of fewer columns, each with `first`.
    """
    aligned = (Column(column, justify="left" if column in texts else "right") for column in columns)
    return FittingTable(first, *aligned, splits=True)


def _text(cell: object) -> RichText:
    text = cell if isinstance(cell, RichText) else Text(str(cell))
    text.expand_tabs(8)
    return text


def _lines(cell: object) -> list[str]:
    return _text(cell).plain.split("\n")


def _wanted(column: Column) -> int:
    """The width that the column takes where nothing is wrapped."""
    lines = (line for cell in (column.header, *column.cells) for line in _lines(cell))
    return max(column.min_width or 0, *map(cell_len, lines))


def _is_text(column: Column) -> bool:
    """Whether its cells may be wrapped: longer ones with spaces, or any of a column that folds."""
    if column.no_wrap or column.overflow == "fold":
        return not column.no_wrap
    return any(len(line) > _TEXT_WIDTH and " " in line for cell in column.cells for line in _lines(cell))


def _beside(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)
