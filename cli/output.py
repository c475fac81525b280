"""What commands print: results on stdout, everything else on stderr."""

import json
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, Self, TypeAlias

import click
from pydantic_core import to_jsonable_python
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.style import StyleType
from rich.table import Column, Table
from rich.text import Text as RichText

from schemas.statuses import JobStatus, StageStatus
from schemas.values.base import Listed

Drawing: TypeAlias = RenderableType

#: Columns of a pipe or a file: each row and each sentence stays on its line, so that grep finds it.
_WIDTH_WITHOUT_TERMINAL: Final = 10_000

#: A sign for each control character but line feeds and tabs, and for those that turn the direction of what follows: a
#: text moves no cursor, changes no colour, links to nothing and reorders no other cell.
_SIGNS: Final = {
    **{code: 0x2400 + code for code in [*range(9), *range(11, 32)]},
    **dict.fromkeys([*range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "�"),
}


class Text(RichText):
    """Words as they are, in styles: nothing in them is markup or control."""

    def __init__(self, words: str = "", style: StyleType = "", **options: Any) -> None:
        super().__init__(words.translate(_SIGNS), style, **options)

    def append(self, text: RichText | str, style: StyleType | None = None) -> Self:
        """Add words or a text. `assemble` adds its parts by this."""
        super().append(text.translate(_SIGNS) if isinstance(text, str) else text, style)
        return self


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
    """A table without lines, to the left, of which no cell is cut off: a terminal wraps what it has no room for."""

    def __init__(self, *columns: str | Column) -> None:
        super().__init__(*columns, box=None, pad_edge=False, header_style="bold")

    def add_row(self, *cells: object, style: StyleType | None = None, end_section: bool = False) -> None:
        """A cell for each column: a text, or what is literal words in it; None is empty."""
        super().add_row(*map(_text, cells), style=style, end_section=end_section)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for column in self.columns:
            column.header, column.overflow = _text(column.header), "fold"
        yield from super().__rich_console__(console, options)


def spaced(parts: Iterable[Drawing]) -> Group:
    """The parts below each other, an empty line after each."""
    return Group(*(line for part in parts for line in (part, Text())))


def figure_table(first: str, *columns: str, texts: Collection[str] = ()) -> FittingTable:
    """A table of which `first` and `texts` are aligned to the left, columns of figures to the right."""
    return FittingTable(first, *(Column(column, justify="left" if column in texts else "right") for column in columns))


def _text(cell: object) -> RichText:
    text = cell if isinstance(cell, RichText) else Text("" if cell is None else str(cell))
    text.expand_tabs(8)
    return text


_COLOURS = {
    "waiting": "dim",
    "ready": "cyan",
    "running": "blue",
    "done": "green",
    "succeeded": "green",
    "failed": "red",
    "poisoned": "bold red",
    "interrupted": "yellow",
    "paused": "magenta",
    "cancelled": "dim",
}

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def draw(*parts: Drawing, err: bool = False) -> None:
    """Print words as they are, and drawings, below each other: results on stdout, everything else on stderr."""
    console(err=err).print(Trimmed(*parts))


def console(*, err: bool = False) -> Console:
    """Where results go; with `err`, where everything else goes."""
    found = Console(stderr=err, markup=False, emoji=False, highlight=False)
    if not found.is_terminal:
        found.width = _WIDTH_WITHOUT_TERMINAL
    return found


def coloured(status: JobStatus | StageStatus | str) -> Text:
    """A state in its colour."""
    return Text(str(status), style=_COLOURS.get(str(status), ""))


def print_result(value: Any, words: str, *, as_json: bool) -> None:
    """A result as one JSON document, or in words."""
    if as_json:
        print_json(value)
    else:
        print_text(words)


def print_list(listed: Listed[Any] | Sequence[Any], table: FittingTable, *, none: str, as_json: bool) -> None:
    """A list as JSON or as a table, and on stderr what follows it; without values, `none` as a notice."""
    listed = listed if isinstance(listed, Listed) else Listed.whole(listed)
    if as_json:
        print_json(listed)
    elif listed.items:
        draw(table)
    else:
        print_text(none, err=True)
    print_following(listed)


def print_following(listed: Listed[Any]) -> None:
    """Say on stderr how the next page of a list is shown, where there is one."""
    for parameter, value in (listed.next or {}).items():
        more = "There are older ones" if listed.total is None else f"{listed.total} in all"
        draw(f"{more}: --{parameter} {value} shows the next.", err=True)


def print_text(words: str | RichText, *, err: bool = False) -> None:
    """Words as somebody wrote them, in their own lines, with signs for characters that control a terminal."""
    if isinstance(words, RichText):
        console(err=err).print(words, soft_wrap=True)
    else:
        click.echo(Text(words).plain, err=err)


def print_data(words: str) -> None:
    """What programs read: exact in a pipe or a file, as of `print_text` in a terminal."""
    # Without `color`, click takes escape sequences out of what goes into a pipe.
    click.echo(Text(words).plain if sys.stdout.isatty() else words, nl=False, color=True)


def confirm(question: str, *, yes: bool) -> None:
    """Ask a person on stderr unless --yes was given; end the command for every answer but yes."""
    if not yes:
        click.confirm(Text(question).plain, abort=True, err=True)


def print_json(value: Any) -> None:
    """One JSON document: values and dataclasses as objects, times as in JSON of the API, never NaN."""
    click.echo(json.dumps(to_jsonable_python(value), indent=2, allow_nan=False))
