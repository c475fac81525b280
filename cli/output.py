"""What commands print: results on stdout, everything else on stderr."""

import json
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from schemas.statuses import JobStatus, StageStatus
from schemas.values.base import Value

#: Columns for a pipe or a file.
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


def console() -> Console:
    """Where results go."""
    found = Console()
    return found if found.is_terminal else Console(width=_WIDTH_WITHOUT_TERMINAL)


def notices() -> Console:
    """Where everything goes that is not a result."""
    return Console(stderr=True)


def coloured(status: JobStatus | StageStatus | str) -> Text:
    """A state in its colour."""
    return Text(str(status), style=_COLOURS.get(str(status), ""))


def print_json(value: Any) -> None:
    """One JSON document: dataclasses and values as objects, times as ISO 8601, never NaN."""
    click.echo(json.dumps(value, default=_plain, indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Value):
        return value.model_dump(mode="json")
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in JSON output.")
