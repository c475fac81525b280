"""Files of a line per question or phrase set, which a configuration file may hold as tables."""

import json
import os
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import click

from cli.user_files import read_file, read_stdin


class Rows(NamedTuple):
    """The lines to read."""

    file: str
    """As problems name it."""
    content: bytes


class RowFile(click.ParamType[Rows]):
    """The path of a file, - for stdin, or the objects of its lines.

    `instead` is what takes the text itself, for who wrote that: a command line in which {} is the text.
    """

    name = "FILE"

    def __init__(self, instead: str) -> None:
        self._instead = instead

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Rows:
        """The content of the file."""
        if isinstance(value, Rows):
            return value
        if isinstance(value, list):
            return Rows("the file of --config", "\n".join(json.dumps(row, default=str) for row in value).encode())
        if value == "-":
            return Rows("<stdin>", read_stdin())
        if not os.path.exists(value):  # noqa: PTH110  (a text is too long for the name of a file)
            instead = self._instead.format(shlex.quote(value))
            self.fail(f"there is no file '{value}'. If that is the text itself: `{instead}`", param, ctx)
        return Rows(str(value), read_file(Path(value)))
