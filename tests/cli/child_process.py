"""`ragq` in a process of its own, which says what it imported."""

import os
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from schemas.settings.process import KNOWN_NAMES


class Ended(NamedTuple):
    """How the command ended, and which of the modules that were asked for it had imported."""

    exit_code: int
    imported: list[str]


def ended(
    arguments: Collection[str], modules: Collection[str], *, folder: Path, environment: Mapping[str, str] = {}
) -> Ended:
    """Run `ragq ARGUMENTS` in a folder, without settings but these."""
    program = (
        "import sys\n"
        "from cli.main import main\n"
        "try:\n    main()\n"
        f"finally:\n    print(*(name for name in {tuple(modules)} if name in sys.modules), file=sys.stderr)"
    )
    kept = {name: value for name, value in os.environ.items() if name not in KNOWN_NAMES}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env={**kept, "RAGQ_HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(done.returncode, done.stderr.splitlines()[-1].split())
