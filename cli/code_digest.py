"""The code that a result was computed with, as far as it is on this disk."""

import hashlib
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_PACKAGES: Final = ("cli", "schemas", "services", "stages", "store")
_LIBRARIES: Final = ("numpy", "ir_measures")
_ROOT: Final = Path(__file__).parents[1]


def code_digest() -> str:
    """SHA-256 over the paths, sizes and times of all modules that reports are made by, and over their libraries.

    A version alone would not tell two checkouts of it apart. Another digest may be of the same code, never the other
    way round.
    """
    found = hashlib.sha256(sys.version.encode())
    for package in _PACKAGES:
        for folder, folders, files in os.walk(_ROOT / package):
            folders.sort()
            for name in sorted(files):
                if name.endswith(".py"):
                    _add(found, Path(folder, name))
    for library in _LIBRARIES:
        if (spec := find_spec(library)) is not None and spec.origin is not None:
            _add(found, Path(spec.origin))
    return found.hexdigest()


def _add(found: "hashlib._Hash", file: Path) -> None:
    status = file.stat()
    found.update(f"{file}\n{status.st_size}\n{status.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
