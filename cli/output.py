"""What commands print: results on stdout, everything else on stderr."""

import json
import sys
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, Final

import click
from rich.console import Console

from cli.drawing import Drawing, FittingTable, Text, Trimmed
from schemas.statuses import JobStatus, StageStatus
from schemas.values.base import Value

#: Columns for a pipe or a file: the longest setting and its value fit on one line, so that grep finds them.
_WIDTH_WITHOUT_TERMINAL: Final = 160

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
    (notices() if err else console()).print(Trimmed(*parts))


def console() -> Console:
    """Where results go."""
    return _of_rich(err=False)


def notices() -> Console:
    """Where everything goes that is not a result."""
    return _of_rich(err=True)


def _of_rich(*, err: bool) -> Console:
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


def print_list(values: Sequence[Any], table: FittingTable, *, none: str, as_json: bool) -> None:
    """A list as a JSON array, or as a table; without values, `none` as a notice."""
    if as_json:
        print_json(values)
    elif values:
        draw(table)
    else:
        print_text(none, err=True)


def print_text(words: str | Text, *, err: bool = False) -> None:
    """Words as somebody wrote them, in their own lines, with signs for characters that control a terminal."""
    if isinstance(words, Text):
        (notices() if err else console()).print(words, soft_wrap=True)
    else:
        click.echo(Text(words).plain, err=err)


def print_data(words: str) -> None:
    """What programs read: exact in a pipe or a file, as of `print_text` in a terminal."""
    # Without `color`, click takes escape sequences out of what goes into a pipe.
    click.echo(Text(words).plain if sys.stdout.isatty() else words, nl=False, color=True)


def confirm(question: str) -> None:
    """Ask a person on stderr; end the command for every answer but yes."""
    click.confirm(Text(question).plain, abort=True, err=True)


def print_json(value: Any) -> None:
    """One JSON document: dataclasses and values as objects, times as ISO 8601, never NaN."""
    click.echo(json_words(value))


def json_words(value: Any) -> str:
    """The words that `print_json` prints."""
    return json.dumps(value, default=_plain, indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Value):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} has no place in JSON output.")
