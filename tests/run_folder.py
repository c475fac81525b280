"""The folder that the processes of one test run share, and values that are made once for all of them."""

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import psutil
from filelock import FileLock

from stack.supervision import end, kill_tree

_MEMORY: Final = Path("/dev/shm")
_NEEDED_BYTES: Final = 6 * 1024**3

#: Every process that a test starts inherits it in its initial environment.
VARIABLE: Final = "FOLDER_OF_THESE_TESTS"


def make() -> None:
    """Make the folder and export its path to child processes. It is world-accessible, as Postgres requires.

    It is outside pytest's folders: pytest makes those private whenever root starts it again. It is in memory where
    there is plenty: a file system on a disk may look at each recently deleted file before it creates one, and every
    test creates and drops a database.
    """
    folder = Path(tempfile.mkdtemp(prefix="ragq-tests-", dir=_MEMORY if _is_plenty() else None))
    folder.chmod(0o755)
    os.environ[VARIABLE] = str(folder)


def _is_plenty() -> bool:
    return (
        os.access(_MEMORY, os.W_OK)
        and shutil.disk_usage(_MEMORY).free > _NEEDED_BYTES
        and psutil.virtual_memory().available > 2 * _NEEDED_BYTES
    )


def path() -> Path:
    return Path(os.environ[VARIABLE])


def new_folder() -> Path:
    """An empty, world-accessible folder in it."""
    made = Path(tempfile.mkdtemp(dir=path()))
    made.chmod(0o755)
    return made


def worker() -> str:
    """The name of this process among those that share the tests; `main` without pytest-xdist."""
    return os.environ.get("PYTEST_XDIST_WORKER", "main")


def once(name: str, make: Callable[[], str]) -> str:
    """The value that `make` returned in the first process that asked for `name`; other processes wait for it."""
    kept = path() / name
    with FileLock(path() / f"{name}.lock"):
        if not kept.exists():
            kept.write_text(make())
        return kept.read_text()


def end_all() -> None:
    """End every process that the tests left running, and remove the folder. A second Ctrl-C does not stop this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while left := list(_started_by_tests()):
        for process in left:
            if _is_postgres(process):
                # SIGKILL would leave shared memory behind.
                end(process.pid, signal.SIGINT)
            else:
                kill_tree(process.pid)
    shutil.rmtree(path(), ignore_errors=True)


def _started_by_tests() -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(VARIABLE) == str(path()):
                yield process
        except psutil.Error:
            continue


def _is_postgres(process: psutil.Process) -> bool:
    try:
        return process.name() == "postgres"
    except psutil.Error:
        return False
