"""Runs the pages that a new user reads first, command by command on real servers and models, and prints the times.

.venv/bin/python -m tests.docs.first_hour [PAGE ...]
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from stack.ports import free_port
from tests.docs.blocks import ROOT, blocks_of, script

HOW_TO: Final = sorted((ROOT / "docs" / "how-to").glob("*.md"))
PAGES: Final = (ROOT / "README.md", ROOT / "docs" / "tutorial.md", *HOW_TO)

#: Commands that have runs of their own.
LEFT_OUT: Final = ("make demo", "make test")
EXAMPLE_PORT: Final = "8420"
_OUTSIDE: Final = ("HOME", "LANG", "PATH", "TMPDIR")


def script_of(page: Path, port: str) -> str:
    """A bash script that runs the commands of a page and stops at the first that fails; empty without commands."""
    blocks = [block for block in blocks_of(page) if block.needs is None]
    lines = [
        line.replace(EXAMPLE_PORT, port) for block in blocks for line in block.commands if not line.startswith(LEFT_OUT)
    ]
    if not lines:
        return ""
    if not any(line.startswith("ragq up") for line in lines):
        lines = ["ragq up", *lines]
    return script(lines)


def run(page: Path) -> int:
    """Run a page in a folder of its own on a stack of its own. The exit code of its last command."""
    port = str(free_port())
    commands = script_of(page, port)
    if not commands:
        return 0
    with tempfile.TemporaryDirectory(prefix="ragq-first-hour-") as name:
        folder = Path(name) / "clone"
        folder.mkdir()
        for entry in _entries():
            (folder / entry.name).symlink_to(entry)
        environment = {name: os.environ[name] for name in _OUTSIDE if name in os.environ}
        environment |= {
            "PATH": f"{ROOT / '.venv' / 'bin'}:{environment['PATH']}",
            "RAGQ_HOME": f"{folder}/.ragq",
            "RAGQ_API_PORT": port,
        }
        try:
            return subprocess.run(["bash", "-c", commands], cwd=folder, env=environment, check=False).returncode
        finally:
            subprocess.run(["ragq", "down"], cwd=folder, env=environment, check=False, capture_output=True)


def _entries() -> Iterator[Path]:
    return (entry for entry in ROOT.iterdir() if entry.name != ".ragq")


def main() -> None:
    for page in [Path(argument).resolve() for argument in sys.argv[1:]] or PAGES:
        print(f"\n=== {page.relative_to(ROOT)}", flush=True)
        if code := run(page):
            sys.exit(f"{page.relative_to(ROOT)}: a command ended with exit code {code}.")


if __name__ == "__main__":
    main()
