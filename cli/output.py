"""What commands print: results on stdout, everything else on stderr."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from cli.drawing import Drawing, FittingTable, Text
from schemas.statuses import JobStatus, StageStatus

if TYPE_CHECKING:
    from rich.console import Console

#: Columns for a pipe or a file: the longest setting and its value fit on one line, so that grep finds them.
_WIDTH_WITHOUT_TERMINAL: Final = 160

#: By these, people call something a terminal, and say what their terminal can do.
_MAKES_A_TERMINAL: Final = ("FORCE_COLOR", "TTY_COMPATIBLE")
_OF_A_TERMINAL: Final = ("COLUMNS", "NO_COLOR")

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


class Screen(NamedTuple):
    """Where ragq draws without rich."""

    width: int
    has_colours: bool


def draw(*parts: Drawing | str, err: bool = False) -> None:
    """Print words as they are, and drawings, below each other: results on stdout, everything else on stderr."""
    on = screen(err=err)
    for part in parts:
        drawing = Text(part) if isinstance(part, str) else part
        if on is not None and (words := _fitting(drawing, on)) is not None:
            click.echo(words, err=err, color=on.has_colours)
        else:
            from cli.fitting import Laid

            (notices() if err else console()).print(Laid(drawing))


def drawn_words(drawing: Drawing) -> str:
    """What `draw` prints of a result on this screen, to be printed again by `echo_drawn`."""
    on = screen()
    words = None if on is None else _fitting(drawing, on)
    if words is not None:
        return words
    from cli.fitting import Laid

    laid_out = console()
    with laid_out.capture() as captured:
        laid_out.print(Laid(drawing))
    return captured.get().removesuffix("\n")


def echo_drawn(words: str) -> None:
    """Print the words of a drawing as they are, on the screen that they were drawn for."""
    on = screen()
    click.echo(words, color=on is None or on.has_colours)


def _fitting(drawing: Drawing, on: Screen) -> str | None:
    """The words of a drawing; None where something has to be wrapped."""
    lines = drawing.drawn(on.width)
    if lines is None:
        return None
    return "\n".join(line.escaped() if on.has_colours else line.plain for line in lines)


def screen(*, err: bool = False) -> Screen | None:
    """What the stream shows; None for a terminal of which rich knows more."""
    stream = sys.stderr if err else sys.stdout
    if any(name in os.environ for name in _MAKES_A_TERMINAL):
        return None
    if not stream.isatty():
        return Screen(_WIDTH_WITHOUT_TERMINAL, has_colours=False)
    is_known = os.environ.get("TERM", "dumb") not in ("", "dumb", "unknown") and sys.platform != "win32"
    if not is_known or any(name in os.environ for name in _OF_A_TERMINAL):
        return None
    width = os.get_terminal_size(stream.fileno()).columns
    return Screen(width, has_colours=True) if width else None


def console() -> "Console":
    """Where results go that rich lays out."""
    return _of_rich(err=False)


def notices() -> "Console":
    """Where everything goes that is not a result, laid out by rich."""
    return _of_rich(err=True)


def _of_rich(*, err: bool) -> "Console":
    from rich.console import Console

    found = Console(stderr=err)
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
    click.echo((Text(words) if isinstance(words, str) else words).escaped(), err=err)


def print_data(words: str) -> None:
    """What programs read: exact in a pipe or a file, as of `print_text` in a terminal."""
    click.echo(Text(words).plain if sys.stdout.isatty() else words, nl=False)


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
    # Many lists hold no values, and print without pydantic.
    from schemas.values.base import Value

    if isinstance(value, Value):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} has no place in JSON output.")
