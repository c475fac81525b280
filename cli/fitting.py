"""Tables that fit into their terminal: a table that is too wide gets another layout, and no cell is cut off."""

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

#: A column of longer cells holds text, which may be wrapped to this width; every other column keeps its width.
_TEXT_WIDTH = 16

#: Columns between two columns of a table.
_GAP = 2

#: Columns in which anything has the width that it wants.
_UNLIMITED = 10_000


class FittingTable(Table):
    """A table without lines. Too wide, it becomes a list of its rows, or with `splits` several tables of fewer columns.

    The first column is repeated in each of these.
    """

    def __init__(self, *columns: str | Column, splits: bool = False) -> None:
        super().__init__(*columns, box=None, pad_edge=False, header_style="bold")
        self._splits = splits

    def fits(self, console: Console, options: ConsoleOptions) -> bool:
        """Whether the table has room when its texts are wrapped and nothing else is."""
        needed = [
            column.min_width or min(width, _TEXT_WIDTH) if _is_text(column) else width
            for column, width in zip(self.columns, self._widths(console, options), strict=True)
        ]
        return _sum(needed) <= options.max_width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.fits(console, options):
            for column in self.columns:
                if _is_text(column):
                    column.overflow = "fold"
                else:
                    column.no_wrap = True
            yield from super().__rich_console__(console, options)
            return
        if self.title is not None:
            yield self.title
        if self._splits:
            for place, columns in enumerate(_groups(self._widths(console, options), options.max_width)):
                yield from [Text()] if place else []
                yield self._part(columns)
        else:
            yield Group(*self._records())

    def _widths(self, console: Console, options: ConsoleOptions) -> list[int]:
        unlimited = options.update_width(_UNLIMITED)
        return [
            max(
                column.min_width or 0,
                *(Measurement.get(console, unlimited, cell).maximum for cell in (column.header, *column.cells)),
            )
            for column in self.columns
        ]

    def _part(self, indexes: Sequence[int]) -> Table:
        columns = [self.columns[index] for index in indexes]
        part = Table(*(column.copy() for column in columns), box=None, pad_edge=False, header_style="bold")
        for row, cells in zip(self.rows, zip(*(column.cells for column in columns), strict=True), strict=True):
            part.add_row(*cells, style=row.style)
        return part

    def _records(self) -> Iterator[RenderableType]:
        for row, cells in zip(self.rows, zip(*(column.cells for column in self.columns), strict=True), strict=True):
            grid = Table.grid(Column(style="dim", no_wrap=True), Column(overflow="fold"), padding=(0, 2))
            for column, cell in zip(self.columns, cells, strict=True):
                if str(cell):
                    grid.add_row(column.header, cell, style=row.style)
            yield grid
            yield Text()


class FirstThatFits:
    """The table if the terminal has room for it, or else the narrower layout."""

    def __init__(self, table: FittingTable, narrow: RenderableType) -> None:
        self._table = table
        self._narrow = narrow

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._table if self._table.fits(console, options) else self._narrow


def folded(header: str, min_width: int) -> Column:
    """A column whose cells may be broken anywhere, down to this width."""
    return Column(header, overflow="fold", min_width=min_width)


def _is_text(column: Column) -> bool:
    lines = (line for cell in column.cells for line in str(cell).splitlines())
    has_text = any(len(line) > _TEXT_WIDTH and " " in line for line in lines)
    return column.overflow == "fold" or (has_text and not column.no_wrap)


def _groups(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    group = [0]
    for index in range(1, len(widths)):
        if len(group) > 1 and _sum([widths[one] for one in (*group, index)]) > room:
            yield group
            group = [0]
        group.append(index)
    yield group


def _sum(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)
