"""Files and folders that a user names."""

import json
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from stat import S_ISREG
from typing import Any, TypeAlias

from cli.options import Typed
from cli.output import draw
from schemas.errors import Refused
from schemas.settings.base import ENV_FILE, merged
from schemas.settings.process import ProcessSettings
from schemas.suggestions import nearest
from stages.texts.characters import listed

_MEGABYTE = 1_000_000


class FileRefused(Refused):
    """A file that is not read; `found` is the reason, `remedy` what to do."""

    def __init__(self, path: Path | str, found: str, remedy: str) -> None:
        self.found = found
        self.remedy = remedy
        super().__init__(f"{path} {found}; {remedy}.")


def read_file(path: Path) -> bytes:
    """The content of a file. Raises FileRefused unless it is a regular one of at most RAGQ_MAX_FILE_MB megabytes."""
    try:
        found = path.stat()
        if not S_ISREG(found.st_mode):
            raise FileRefused(path, "is not a regular file", "copy its content into one")
        _check_size(path, found.st_size)
        return path.read_bytes()
    except OSError as error:
        raise FileRefused(path, f"cannot be read ({error.strerror})", "restore the file or its rights") from None


def read_stdin() -> bytes:
    """The content of stdin. Raises FileRefused for more than RAGQ_MAX_FILE_MB megabytes."""
    content = sys.stdin.buffer.read(_most_megabytes() * _MEGABYTE + 1)
    _check_size("<stdin>", len(content))
    return content


def _check_size(path: Path | str, size: int) -> None:
    # The setting is one megabyte at least: for the thousands of small files of a corpus it is not read.
    if size > _MEGABYTE and size > (most := _most_megabytes()) * _MEGABYTE:
        raise FileRefused(path, f"is larger than {most} MB", "split it, or raise RAGQ_MAX_FILE_MB")


def _most_megabytes() -> int:
    return ProcessSettings.from_environment(os.environ, ENV_FILE).ragq_max_file_mb


Rows: TypeAlias = tuple[str, bytes]
"""A file as problems name it, and the lines to read."""


def row_file(instead: str) -> Typed[Rows]:
    """The path of a file, - for stdin, or the objects of its lines. `instead` is what takes the text itself, for who
    wrote that: a command line in which {} is the text."""

    def parse(value: str | list[Any]) -> Rows:
        if isinstance(value, list):
            return "the file of --config", "\n".join(json.dumps(row, default=str) for row in value).encode()
        if value == "-":
            return "<stdin>", read_stdin()
        if not os.path.exists(value):  # noqa: PTH110  (a text is too long for the name of a file)
            command = instead.format(shlex.quote(value))
            raise ValueError(f"there is no file '{value}'. If that is the text itself: `{command}`")
        return value, read_file(Path(value))

    return Typed("FILE", parse)


def environment() -> Mapping[str, str]:
    """The environment over the .env file."""
    return merged(os.environ, ENV_FILE)


def data_directory() -> Path:
    """DATA_BASE_DIR, or `data`."""
    return Path(environment().get("DATA_BASE_DIR") or "data")


def tell_unread(folder: Path, known: Mapping[str, str]) -> None:
    """Print on stderr the files of a folder that are not read, and what each may have been meant for. `known` are the
    names that are read, and what each has: of those that are absent, the nearest is named. Hidden files and sub-folders
    are not named."""
    there = {path.name for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")}
    absent = [name for name in known if name not in there]
    if unread := sorted(there - {*known}):
        named = [f"{name} (is it {of}, {known[of]}?)" if (of := nearest(name, absent)) else name for name in unread]
        draw(f"Not read: {listed(named)}.", err=True)
