"""Files that nobody but their owner reads."""

import os
import secrets
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Write a file of mode 0600. A reader sees the old text or the new one, never half of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    partial.replace(path)


def kept_password(path: Path) -> str:
    """The password kept in a file; made on the first call. It needs no quoting in a URL, a shell or an INI file."""
    if not path.exists():
        write_private(path, secrets.token_hex(24))
    return path.read_text()
