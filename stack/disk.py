"""A disk without room, and folders that cannot be used, in one sentence each."""

import errno
import os
import pwd
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from schemas.errors import StackError

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_SAID: Final = "No space left on device"
_TOO_LOW: Final = 20_000_000
"""Bytes with which no server starts: a segment of Postgres's log alone has 16 MB."""


def full_disk(path: Path) -> StackError:
    """What to say where the disk of a file or folder is full."""
    folder = _existing(path)
    room = shutil.disk_usage(folder)
    return StackError(
        f"There is no room on the disk of {folder}: {room.free / 1e6:,.0f} of {room.total / 1e6:,.0f} MB are free now. "
        "Free some, or set RAGQ_HOME to a folder on another disk; nothing that was stored is lost."
    )


def says_full(said: str) -> bool:
    """Whether a program says that there was no room."""
    return _SAID in said


def is_full(path: Path, said: str = "") -> bool:
    """Whether a program that wrote there, and said so much at its end, failed for want of room."""
    return says_full(said) or shutil.disk_usage(_existing(path)).free < _TOO_LOW


def fullest(paths: Sequence[Path]) -> Path:
    """The path whose disk has the least room."""
    return min(paths, key=lambda path: shutil.disk_usage(_existing(path)).free)


def unusable(folder: Path, error: OSError) -> StackError:
    """What to say where a folder of a stack cannot be read or written."""
    if error.errno in FULL:
        return full_disk(folder)
    owner = ""
    with suppress(OSError, KeyError):
        uid = _existing(folder).stat().st_uid
        if uid not in (0, os.geteuid()) or folder.exists():
            owner = f"; it belongs to {pwd.getpwuid(uid).pw_name}"
    return StackError(
        f"{folder} cannot be used: {os.strerror(error.errno or errno.EIO)}{owner}. Set RAGQ_HOME to a folder of your "
        "own, or DATABASE_URL and REDIS_URL to servers that you may use."
    )


def _existing(path: Path) -> Path:
    path = path.absolute()
    for one in (path, *path.parents):
        with suppress(OSError):
            if one.is_dir():
                return one
    return Path("/")
