"""Files of a line per question or phrase set, which a configuration file may hold as tables."""

import json
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
    """The path of a file, - for stdin, or the objects of its lines."""

    name = "FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Rows:
        """The content of the file."""
        if isinstance(value, Rows):
            return value
        if isinstance(value, list):
            return Rows("the file of --config", "\n".join(json.dumps(row, default=str) for row in value).encode())
        if value == "-":
            return Rows("<stdin>", read_stdin())
        return Rows(str(value), read_file(Path(value)))
