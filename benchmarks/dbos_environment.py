"""DBOS in a virtual environment of its own, kept between runs in the user's cache folder."""

import subprocess
import sys
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

DBOS_VERSION: Final = "3.4.0"


def dbos_python() -> Path:
    """The Python that has DBOS; made and filled by pip at the first call."""
    folder = user_cache_path("ragq") / f"dbos-{DBOS_VERSION}-python-{sys.version_info.major}.{sys.version_info.minor}"
    python = folder / "bin" / "python"
    if not _has_dbos(python):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        subprocess.run([*install, f"dbos=={DBOS_VERSION}"], check=True, stdout=subprocess.DEVNULL)
    return python


def _has_dbos(python: Path) -> bool:
    if not python.exists():
        return False
    question = f"from importlib.metadata import version; assert version('dbos') == '{DBOS_VERSION}'"
    return subprocess.run([str(python), "-c", question], stderr=subprocess.DEVNULL).returncode == 0
