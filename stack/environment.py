"""The environment of this process: versions, commit, hardware. No name of a host, a user or a folder."""

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from schemas.values.runs import Environment

PACKAGES = (
    "asyncpg",
    "celery",
    "gensim",
    "httpx",
    "json-repair",
    "numpy",
    "ollama",
    "pgvector",
    "pydantic",
    "rapidfuzz",
    "scikit-learn",
    "sentence-transformers",
    "sqlalchemy",
    "tokenizers",
    "torch",
    "transformers",
    "xllamacpp",
)
"""The packages that results depend on, or that are first asked for when a result differs."""

GIT_TIMEOUT_S = 5.0

_NVIDIA = Path("/proc/driver/nvidia/gpus")
_CPU = Path("/proc/cpuinfo")


@cache
def this_environment() -> Environment:
    """The environment as it was when this was first asked for: the code that is loaded does not change after it."""
    commit, is_dirty = _commit(Path(__file__).parents[1])
    return Environment(
        ragq_version=version("ragq"),
        git_commit=commit,
        git_dirty=is_dirty,
        python=platform.python_version(),
        platform=platform.platform(),
        packages={name: found for name in PACKAGES if (found := _version(name)) is not None},
        cpu=_cpu(),
        cores=os.cpu_count(),
        gpus=_gpus(_NVIDIA),
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit(folder: Path) -> tuple[str | None, bool | None]:
    """The commit of a checkout, and whether it has changes; None twice where the folder is none, or git is not there.

    A folder inside the checkout of another project, such as an installed package, has none.
    """
    if not (folder / ".git").exists():
        return None, None
    commit = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return (None, None) if commit is None or changes is None else (commit, bool(changes))


def _git(folder: Path, *command: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *command], capture_output=True, text=True, timeout=GIT_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _cpu() -> str | None:
    try:
        lines = _CPU.read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or None
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine() or None)


def _gpus(folder: Path) -> tuple[str, ...]:
    """The cards that NVIDIA's driver lists; read from files, since torch takes seconds to load."""
    models = []
    for card in sorted(folder.glob("*/information")):
        lines = card.read_text(encoding="utf-8").splitlines()
        models += [line.partition(":")[2].strip() for line in lines if line.startswith("Model:")]
    return tuple(models)
