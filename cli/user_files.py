"""Files that a user names: regular ones, of limited size."""

import os
import sys
from pathlib import Path
from stat import S_ISREG

from schemas.errors import Refused
from schemas.settings.layers import ENV_FILE
from schemas.settings.process import effective_process

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
    return effective_process(os.environ, ENV_FILE).settings.ragq_max_file_mb
