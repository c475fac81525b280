"""How rich lays out a drawing that is too wide for its terminal: no cell of a table is cut off."""

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column as RichColumn
from rich.table import Table
from rich.text import Text as RichText

from cli.drawing import GAP, Column, Drawing, FirstThatFits, FittingTable, Group, Text, beside


class Laid:
    """A drawing for rich: drawn as it is where it has room, else with its texts wrapped."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _laid(self._drawing, options.max_width)


def _laid(drawing: Drawing, width: int) -> Iterator[RenderableType]:
    if isinstance(drawing, Group):
        for part in drawing.parts:
            yield from _laid(part, width)
    elif isinstance(drawing, FirstThatFits):
        yield from _laid(drawing.chosen(width), width)
    elif (lines := drawing.drawn(width)) is not None:
        yield from map(_text, lines)
    elif isinstance(drawing, Text):
        yield _text(drawing)
    else:
        yield from _table(drawing, width)


def _table(table: FittingTable, width: int) -> Iterator[RenderableType]:
    """The table with its texts wrapped; where that is not enough, what its `too_wide` says."""
    if table.too_wide == "wrap" or table.fits(width):
        yield _wrapped(table, keeps_others=table.fits(width))
    elif table.too_wide == "list":
        yield from _records(table)
    else:
        for place, group in enumerate(_groups(table.widths(), width)):
            yield from [RichText()] if place else []
            yield from _laid(table.of_columns(group, "wrap"), width)


def _text(text: Text) -> RichText:
    return RichText.assemble(*text.parts)


def _wrapped(table: FittingTable, *, keeps_others: bool) -> Table:
    """The table with its texts wrapped, and other cells too unless it `keeps_others` whole."""
    columns = (
        _column(column, is_text=table.is_text(index), keeps_others=keeps_others)
        for index, column in enumerate(table.columns)
    )
    drawn = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in table.rows:
        drawn.add_row(*map(_text, row.cells), style=row.style)
    return drawn


def _column(column: Column, *, is_text: bool, keeps_others: bool) -> RichColumn:
    return RichColumn(
        RichText(column.header),
        justify=column.justify,
        min_width=column.min_width or None,
        overflow="fold" if column.may_fold or (keeps_others and is_text) else "ellipsis",
        no_wrap=column.no_wrap or (keeps_others and not is_text),
    )


def _records(table: FittingTable) -> Iterator[RenderableType]:
    for row in table.rows:
        grid = Table.grid(RichColumn(style="dim", no_wrap=True), RichColumn(overflow="fold"), padding=(0, GAP))
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell.plain:
                grid.add_row(column.header, _text(cell), style=row.style)
        yield grid
        yield RichText()


def _groups(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    group = [0]
    for index in range(1, len(widths)):
        if len(group) > 1 and beside([widths[one] for one in (*group, index)]) > room:
            yield group
            group = [0]
        group.append(index)
    yield group
