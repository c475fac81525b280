"""Results as tables: in the terminal, in LaTeX, in Markdown and as CSV."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeAlias

import click
from rich.console import Group

from cli.output import Drawing, FittingTable, Text, draw, figure_table, print_data, print_list, spaced
from schemas.values.base import Listed, Row
from stages.reports.tables import Cell, Figure, Listing, Sheet, State, Table, as_csv, paper_tables

#: Rows of a listing in the terminal; --json has all.
_LISTED = 20


def draw_sheets(sheets: Iterable[Sheet]) -> None:
    """Print results."""
    draw(*map(sheet_drawing, sheets))


def sheet_drawing(sheet: Sheet) -> Drawing:
    """A result in the terminal."""
    head = [
        Text.assemble((sheet.title, "bold"), f"  {sheet.head}"),
        *(Text(notice, style="yellow") for notice in sheet.notices),
        *(Text(fact, style="dim") for fact in sheet.facts),
    ]
    parts: list[Drawing] = [Group(*head)]
    for part in sheet.parts:
        if isinstance(part, Table):
            parts.append(_drawing(part))
        else:
            parts.append(Text(part.words, style="yellow" if part.is_notice else ""))
    if sheet.cost:
        parts.append(Group(Text("Cost", style="bold"), *(Text(f"  {words}") for words in sheet.cost)))
    if sheet.origin:
        parts.append(Group(*(Text(words, style="dim") for words in sheet.origin)))
    return spaced(parts)


def print_listing(listing: Listing[Row], listed: Listed[Row], *, none: str = "", as_json: bool) -> None:
    """A list as JSON or as its table, and on stderr what follows it; without rows, `none` or the words of the list."""
    print_list(listed, rows_drawing(listing.table(listed.items)), none=none or listing.none, as_json=as_json)


def rows_drawing(table: Table, *, at_most: int | None = None) -> FittingTable:
    """Columns and rows, without the caption and the notes."""
    shown = figure_table(*table.columns, texts=table.texts)
    for row in table.rows[:at_most]:
        shown.add_row(*map(_cell, row), style="bold" if str(row[0]) in table.chosen else None)
    return shown


def _drawing(table: Table) -> Drawing:
    shown = rows_drawing(table, at_most=_LISTED if table.is_listing else None)
    more = len(table.rows) - shown.row_count
    notes = [*table.notes, *([f"and {more} more; --json has all of them"] if more else [])]
    return Group(Text(table.caption, style="bold"), shown, *(Text(note, style="dim") for note in notes))


_STYLES = {"good": "green", "wait": "cyan", "bad": "red", "idle": "dim"}


def _cell(cell: Cell) -> Drawing:
    if isinstance(cell, State):
        return Text(cell.words, _STYLES[cell.kind])
    if isinstance(cell, Figure):
        gap = " " if cell.bounds else ""
        return Text.assemble((cell.value, "bold" if cell.is_clear else ""), (gap + cell.bounds, "dim"))
    return str(cell)


Write: TypeAlias = Callable[[Sequence[Sheet]], None]
"""Prints results in a format for papers, or writes them to a file."""


def paper_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --latex, --markdown, --csv and --output, as `write`: a Write if a format was asked for, or None.
    Raises UsageError for two formats at once, --json included, and for a file without any."""

    @click.option("--latex", is_flag=True, help="Print tables in LaTeX; they need no package.")
    @click.option("--markdown", is_flag=True, help="Print tables in Markdown.")
    @click.option("--csv", is_flag=True, help="Print the numbers as CSV, one a row.")
    @click.option(
        "--output",
        metavar="FILE",
        type=click.Path(dir_okay=False, writable=True, path_type=Path),
        help="Write the tables or the CSV to this file.",
    )
    @wraps(command)
    def with_write(latex: bool, markdown: bool, csv: bool, output: Path | None, as_json: bool, **options: Any) -> Any:
        asked = {"--latex": latex, "--markdown": markdown, "--csv": csv, "--json": as_json}
        chosen = [option for option, is_asked in asked.items() if is_asked]
        if len(chosen) > 1:
            raise click.UsageError(f"{' and '.join(chosen)} exclude each other; give one of them.")
        is_paper = bool(chosen) and not as_json
        if output is not None and not is_paper:
            raise click.UsageError("--output goes with --latex, --markdown or --csv.")
        write = partial(_write, chosen[0], output) if is_paper else None
        return command(write=write, as_json=as_json, **options)

    return with_write


def _write(wanted: str, output: Path | None, sheets: Sequence[Sheet]) -> None:
    if wanted == "--csv":
        text = as_csv(sheets)
    else:
        tables = (table for sheet in sheets for table in paper_tables(sheet))
        text = as_latex(tables) if wanted == "--latex" else as_markdown(tables)
    if output is None:
        print_data(text)
    else:
        output.write_text(text, encoding="utf-8", newline="")
        draw(f"Wrote {output}.", err=True)


_ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",
        "\n": " ",
        "\r": " ",
    }
)


def as_latex(tables: Iterable[Table]) -> str:
    """One float per table. Its notes are rows of the table itself, so that they cannot be left behind."""
    return "\n".join(map(_latex_table, tables))


def latex_escaped(text: str) -> str:
    r"""Text that LaTeX shows as it is.

    >>> latex_escaped("50 % of a_b: -0.5 [x]")
    '50 \\% of a\\_b: -0.5 {[}x]'
    """
    return text.translate(_ESCAPES)


def _latex_table(table: Table) -> str:
    width = len(table.columns)
    notes = [
        rf"\multicolumn{{{width}}}{{p{{0.9\linewidth}}}}{{\footnotesize {latex_escaped(note)}}}" for note in table.notes
    ]
    lines = [
        r"\begin{table}",
        rf"\caption{{{latex_escaped(table.caption)}}}",
        rf"\begin{{tabular}}{{l{'r' * (width - 1)}}}",
        r"\hline",
        rf"{_row(table.columns)} \hline",
        *map(_row, table.rows),
        r"\hline",
        *(rf"{note} \\" for note in notes),
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[Cell]) -> str:
    return " & ".join(latex_escaped(str(cell)) for cell in cells) + r" \\"


_SPECIAL = re.compile(r"([\\`*_\[\]<>|&#~$])")


def as_markdown(tables: Iterable[Table]) -> str:
    """Caption, table and notes of each."""
    return "\n".join(map(_markdown_table, tables))


def markdown_escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line.

    >>> markdown_escaped("a_b | <i>")
    'a\\_b \\| \\<i\\>'
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.splitlines()))


def _markdown_table(table: Table) -> str:
    lines = [
        f"**{markdown_escaped(table.caption)}**",
        "",
        _markdown_row(table.columns),
        f"| --- |{' ---: |' * (len(table.columns) - 1)}",
        *map(_markdown_row, table.rows),
        "",
        *(line for note in table.notes for line in (f"> {markdown_escaped(note)}", ">")),
    ]
    return "\n".join(lines[:-1]) + "\n"


def _markdown_row(cells: Iterable[Cell]) -> str:
    return f"| {' | '.join(markdown_escaped(str(cell)) for cell in cells)} |"
