"""What commands draw: words in a style, tables, and what stands below each other.

What has room is drawn here, and so are tables with one column of words that are wrapped. What else has to be wrapped
is laid out by rich, in `cli/fitting.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Final, Literal, NamedTuple, TypeAlias

Justify: TypeAlias = Literal["left", "center", "right"]
TooWide: TypeAlias = Literal["list", "split", "wrap"]

#: A column of longer cells holds text, which may be wrapped to this width; every other column keeps its width.
_TEXT_WIDTH: Final = 16

#: Columns between two columns of a table.
GAP: Final = 2

#: Signs of ragq that are one column wide in every terminal.
_ONE_COLUMN: Final = str.maketrans("", "", "·○◐●✗×…–█")

#: A sign for each control character but line feeds and tabs, and for those that turn the direction of what follows: a
#: text moves no cursor, changes no colour, links to nothing and reorders no other cell.
_SIGNS: Final = {
    **{code: 0x2400 + code for code in [*range(9), *range(11, 32)]},
    **dict.fromkeys([*range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "�"),
}

#: With the spaces around it.
_WORD: Final = re.compile(r"\s*\S+\s*")

_CODES: Final = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}


class Part(NamedTuple):
    """Words of one style: names of `_CODES` with spaces between them, or none."""

    words: str
    style: str


class Text:
    """Words as they are, in styles: nothing in them is markup or control."""

    def __init__(self, words: str = "", style: str = "") -> None:
        self.plain = words.translate(_SIGNS)
        """The words alone."""
        self.parts: tuple[Part, ...] = (Part(self.plain, style),)

    @classmethod
    def of_parts(cls, parts: Sequence[Part]) -> Text:
        """One text of the words of others."""
        whole = cls.__new__(cls)
        whole.parts = tuple(parts)
        whole.plain = "".join([words for words, _ in parts])
        return whole

    @classmethod
    def assemble(cls, *pieces: str | tuple[str, str] | Text) -> Text:
        """One text of several: plain words, words with their style, and texts."""
        parts: list[Part] = []
        for piece in pieces:
            found = piece if isinstance(piece, Text) else cls(piece) if isinstance(piece, str) else cls(*piece)
            parts += found.parts
        return cls.of_parts(parts)

    def lines(self) -> list[Text]:
        """A text for each line; one for no words."""
        if "\n" not in self.plain:
            return [self]
        lines: list[list[tuple[str, str]]] = [[]]
        for words, style in self.parts:
            first, *others = words.split("\n")
            lines[-1].append((first, style))
            lines += ([(line, style)] for line in others)
        return [Text.assemble(*line) for line in lines]

    def drawn(self, width: int) -> list[Text] | None:
        """Its lines; None where one is longer than `width`, or holds a tab."""
        if "\t" in self.plain:
            return None
        lines = self.lines()
        return lines if all(columns(line.plain) <= width for line in lines) else None

    def wrapped(self, width: int) -> list[Text] | None:
        """Its lines, broken between words; None where a word is longer than `width`."""
        found: list[Text] = []
        for line in self.lines():
            if columns(line.plain) <= width:
                found.append(line)
                continue
            starts, used = [0], 0
            for word in _WORD.finditer(line.plain):
                needed = columns(word.group().rstrip())
                if needed > width:
                    return None
                if used + needed > width:
                    starts.append(word.start())
                    used = 0
                used += columns(word.group())
            found += (line._between(start, end) for start, end in pairwise([*starts, len(line.plain)]))
        return found

    def _between(self, start: int, end: int) -> Text:
        """The words from one place to another, without spaces at their end."""
        parts, place = [], 0
        end = start + len(self.plain[start:end].rstrip())
        for words, style in self.parts:
            parts.append(Part(words[max(start - place, 0) : max(end - place, 0)], style))
            place += len(words)
        return Text.of_parts(parts)

    def escaped(self) -> str:
        """The words with the escape sequences of their colours."""
        return "".join(
            f"\x1b[{';'.join(_CODES[name] for name in part.style.split())}m{part.words}\x1b[0m"
            if part.style and part.words
            else part.words
            for part in self.parts
        )


Cell: TypeAlias = str | Text

_NOTHING: Final = Text()


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, and how its cells stand in it."""

    header: str
    justify: Justify = "left"
    min_width: int = 0
    no_wrap: bool = False
    may_fold: bool = False
    """Its cells may be broken anywhere, down to `min_width`."""


def folded(header: str, min_width: int) -> Column:
    """A column whose cells may be broken anywhere, down to this width."""
    return Column(header, min_width=min_width, may_fold=True)


class Row(NamedTuple):
    """The cells of a row, and the style that they have in common."""

    cells: tuple[Text, ...]
    style: str


class FittingTable:
    """A table without lines, of which no cell is cut off.

    Too wide, it becomes a list of its rows, or what `too_wide` says: `split` makes several tables of fewer columns,
    each with the first column; `wrap` breaks any cell.
    """

    def __init__(self, *columns: str | Column, too_wide: TooWide = "list") -> None:
        self.columns = [Column(column) if isinstance(column, str) else column for column in columns]
        self.rows: list[Row] = []
        self.too_wide: TooWide = too_wide

    def add_column(self, header: str, *, justify: Justify = "left", min_width: int = 0, no_wrap: bool = False) -> None:
        """A further column, before the first row."""
        self.columns.append(Column(header, justify, min_width, no_wrap))

    def add_row(self, *cells: Cell, style: str = "") -> None:
        """A cell for each column: literal words, or a text."""
        self.rows.append(Row(tuple(cell if isinstance(cell, Text) else Text(cell) for cell in cells), style))

    def of_columns(self, indexes: Sequence[int], too_wide: TooWide) -> FittingTable:
        """A table of some of its columns."""
        part = FittingTable(*(self.columns[index] for index in indexes), too_wide=too_wide)
        part.rows = [Row(tuple(row.cells[index] for index in indexes), row.style) for row in self.rows]
        return part

    def widths(self) -> list[int]:
        """The width that each column wants."""
        heads = (Text(column.header) for column in self.columns)
        return [
            max(column.min_width, *(columns(line) for text in texts for line in text.plain.split("\n")))
            for column, *texts in zip(self.columns, heads, *(row.cells for row in self.rows), strict=True)
        ]

    def is_text(self, index: int) -> bool:
        """Whether the cells of a column may be wrapped."""
        column = self.columns[index]
        if column.may_fold or column.no_wrap:
            return column.may_fold
        lines = (line for row in self.rows for line in row.cells[index].plain.splitlines())
        return any(len(line) > _TEXT_WIDTH and " " in line for line in lines)

    def fits(self, width: int) -> bool:
        """Whether the table has room when its texts are wrapped and nothing else is."""
        wanted = self.widths()
        return self._needed(wanted, [index for index in range(len(wanted)) if self.is_text(index)]) <= width

    def _needed(self, widths: Sequence[int], texts: Sequence[int]) -> int:
        """The width of the table with its texts wrapped."""
        least = {index: self.columns[index].min_width or min(widths[index], _TEXT_WIDTH) for index in texts}
        return beside([least.get(index, wanted) for index, wanted in enumerate(widths)])

    def drawn(self, width: int) -> list[Text] | None:
        """Its lines; None where more has to be wrapped than words of one column."""
        widths = self._widths_in(width)
        if widths is None or any("\t" in cell.plain for row in self.rows for cell in row.cells):
            return None
        heads = [Text(column.header).lines() for column in self.columns]
        # The lines of a head stand at its foot.
        height = max(map(len, heads))
        lines = self._lines([[Text()] * (height - len(head)) + head for head in heads], "bold", widths)
        for row in self.rows:
            cells = [cell.wrapped(room) for cell, room in zip(row.cells, widths, strict=True)]
            if None in cells:
                return None
            lines += self._lines([cell for cell in cells if cell is not None], row.style, widths)
        return lines

    def _widths_in(self, width: int) -> list[int] | None:
        """The widths of the columns; None where more has to be narrower than one column of words."""
        widths = self.widths()
        excess = beside(widths) - width
        if excess <= 0:
            return widths
        texts = [index for index in range(len(widths)) if self.is_text(index)]
        if len(texts) != 1 or self._needed(widths, texts) > width:
            return None
        widths[texts[0]] -= excess
        return None if columns(self.columns[texts[0]].header) > widths[texts[0]] else widths

    def _lines(self, cells: Sequence[Sequence[Text]], style: str, widths: Sequence[int]) -> list[Text]:
        found = []
        for line in zip_longest(*cells, fillvalue=_NOTHING):
            parts: list[Part] = []
            for column, width, text in zip(self.columns, widths, line, strict=True):
                room = width - columns(text.plain)
                before = {"left": 0, "center": room // 2, "right": room}[column.justify]
                styled = [Part(words, f"{style} {own}".strip()) for words, own in text.parts] if style else text.parts
                parts += [Part(" " * before, ""), *styled, Part(" " * (room - before + GAP), "")]
            # No spaces end a line.
            parts.pop()
            found.append(Text.of_parts([part for part in parts if part.words]))
        return found


class Group:
    """Parts below each other."""

    def __init__(self, *parts: Drawing) -> None:
        self.parts = parts

    def drawn(self, width: int) -> list[Text] | None:
        """The lines of all parts; None where one has no room."""
        lines: list[Text] = []
        for part in self.parts:
            if (found := part.drawn(width)) is None:
                return None
            lines += found
        return lines


class FirstThatFits:
    """The table if the terminal has room for it, or else the narrower layout."""

    def __init__(self, table: FittingTable, narrow: Drawing) -> None:
        self._table = table
        self._narrow = narrow

    def drawn(self, width: int) -> list[Text] | None:
        """The lines of the one that fits; None where it has to be wrapped."""
        return self.chosen(width).drawn(width)

    def chosen(self, width: int) -> Drawing:
        """The layout for a width."""
        return self._table if self._table.fits(width) else self._narrow


Drawing: TypeAlias = Text | FittingTable | Group | FirstThatFits


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
    aligned = (Column(column, "left" if column in texts else "right") for column in columns)
    return FittingTable(first, *aligned, too_wide="split")


def columns(words: str) -> int:
    """The columns that words take in a terminal."""
    if words.isascii() or words.translate(_ONE_COLUMN).isascii():
        return len(words)
    from rich.cells import cell_len

    return cell_len(words)


def beside(widths: Sequence[int]) -> int:
    """The width of columns beside each other."""
    return sum(widths) + GAP * (len(widths) - 1)
