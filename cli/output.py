"""What commands print: results on stdout, everything else on stderr."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any

import click
from rich.console import Console, Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from cli.fitting import FittingTable
from schemas.statuses import JobStatus, StageStatus

#: Columns for a pipe or a file: the longest setting and its value fit on one line, so that grep finds them.
_WIDTH_WITHOUT_TERMINAL = 160

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


def console() -> Console:
    """Where results go."""
    return _wide(Console())


def notices() -> Console:
    """Where everything goes that is not a result."""
    return _wide(Console(stderr=True))


def _wide(found: Console) -> Console:
    if not found.is_terminal:
        found.width = _WIDTH_WITHOUT_TERMINAL
    return found


def coloured(status: JobStatus | StageStatus | str) -> Text:
    """A state in its colour."""
    return Text(str(status), style=_COLOURS.get(str(status), ""))


def plain_table(*columns: str | Column) -> FittingTable:
    """A table without lines, its columns aligned to the left; a list of its rows where the terminal is too narrow."""
    return FittingTable(*columns)


def figure_table(first: str, *columns: str, texts: Collection[str] = ()) -> FittingTable:
    """A table without lines: `first` and `texts` are aligned to the left, columns of figures to the right.

    Where the terminal is too narrow, it becomes several tables of fewer columns, each with `first`.
    """
    aligned = (Column(column, justify="left" if column in texts else "right") for column in columns)
    return FittingTable(first, *aligned, too_wide="split")


def spaced(parts: Iterable[RenderableType]) -> Group:
    """The parts below each other, an empty line after each."""
    return Group(*(line for part in parts for line in (part, Text())))


def print_result(value: Any, words: str, *, as_json: bool) -> None:
    """A result as one JSON document, or in words."""
    if as_json:
        print_json(value)
    else:
        click.echo(words)


def print_list(values: Sequence[Any], table: Table, *, none: str, as_json: bool) -> None:
    """A list as a JSON array, or as a table; without values, `none` as a notice."""
    if as_json:
        print_json(values)
    elif values:
        console().print(table)
    else:
        notices().print(none)


def print_json(value: Any) -> None:
    """One JSON document: dataclasses and values as objects, times as ISO 8601, never NaN."""
    click.echo(json.dumps(value, default=_plain, indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, datetime):
        return value.isoformat()
    # Many lists hold no values, and print without pydantic.
    from schemas.values.base import Value

    if isinstance(value, Value):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} has no place in JSON output.")
