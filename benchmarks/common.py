"""What benchmarks share: temporary servers and stacks, memory and processor time, tables, and the machine."""

import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import psutil
from rich.console import Console
from rich.table import Table

from schemas.chains import STAGES
from stack.connections import connections

PROJECT: Final = Path(__file__).parent.parent
NOOP_STAGES: Final[tuple[str, ...]] = STAGES[:7]
"""What a chain of stages that do nothing is called: by the product's own names, so that its queues are measured."""
SERVER_SETTINGS: Final = ("DATABASE_URL", "REDIS_URL", "OLLAMA_HOST", "OLLAMA_PORT", "RAGQ_OPENAI_BASE_URL")
_SAMPLE_SECONDS: Final = 2.0


def show(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table whose columns but the first are numbers."""
    table = Table()
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left")
    for row in rows:
        table.add_row(*map(str, row))
    click.echo(title)
    Console(width=140).print(table)


def show_machine(*packages: str) -> None:
    """Print what results depend on: the machine, the other work that shares its cores, and versions of packages."""
    versions = ", ".join(f"{package} {version(package)}" for package in ("ragq", *packages))
    click.echo(
        f"{time.strftime('%Y-%m-%d %H:%M')}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, "
        f"Python {platform.python_version()}, {versions}"
    )


def cpu_seconds(*pids: int) -> float:
    """User and system seconds of processes, of all below them, and of the children they have seen end."""
    roots = [psutil.Process(pid) for pid in pids]
    family = [process for root in roots for process in (root, *root.children(recursive=True))]
    return float(sum(sum(process.cpu_times()[:4]) for process in family))


def data_folder() -> Path:
    """The folder of public data. Raises ClickException when it is missing."""
    folder = Path(os.environ.get("RAGQ_DATA_DIR", "../shared/data"))
    if not folder.is_dir():
        raise click.ClickException(f"There is no public data in {folder}; RAGQ_DATA_DIR names its folder.")
    return folder


def environment(home: Path, **more: str) -> dict[str, str]:
    """Variables of ragq's commands, without those that name servers of the machine."""
    kept = {name: value for name, value in os.environ.items() if name not in SERVER_SETTINGS}
    return kept | {"RAGQ_HOME": str(home), "RAGQ_PROFILE": "demo", **more}


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is removed with the block."""
    with tempfile.TemporaryDirectory(prefix="ragq-benchmark-") as name:
        folder = Path(name)
        # Postgres does not run as root: another account has to reach its folder.
        folder.chmod(0o711)
        yield folder


class Stack:
    """A running stack, used through its commands."""

    def __init__(self, folder: Path, **more: str) -> None:
        self.folder = folder
        """For files of the benchmark; the stack keeps its own below it."""
        self.environment = environment(folder / "home", **more)
        """Of every command."""

    def ragq(self, *arguments: str, allowed: Sequence[int] = (0,)) -> str:
        """The output of a command that ends with an allowed exit code."""
        ran = subprocess.run(
            [Path(sys.executable).with_name("ragq"), *arguments],
            cwd=PROJECT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode not in allowed:
            raise click.ClickException(f"ragq {' '.join(arguments)} ended with {ran.returncode}:\n{ran.stderr}")
        return ran.stdout

    def asked(self, *arguments: str) -> Any:
        """The JSON output of a command."""
        return json.loads(self.ragq(*arguments, "--json"))

    def parts(self) -> list[dict[str, Any]]:
        """The parts of the stack, whatever is wrong."""
        found: list[dict[str, Any]] = json.loads(self.ragq("status", "--json", allowed=(0, 1)))["parts"]
        return found

    def ran(self, *arguments: str) -> str:
        """Submit these and wait. The run, as in r12; all of its jobs succeeded."""
        run: str = self.asked("submit", *arguments)["run"]
        self.ragq("watch", run)
        return run


@contextmanager
def stack(*without: str, **more: str) -> Iterator[Stack]:
    """A separate stack, as `ragq up` starts it on a new machine, until the block ends; with `more` settings."""
    with temporary_folder() as folder:
        running = Stack(folder, **more)
        running.ragq("up", "--no-flower", *without)
        try:
            yield running
        finally:
            running.ragq("down")


class Servers(NamedTuple):
    """A migrated database, a broker, and a folder for other files of a benchmark."""

    database_url: str
    redis_url: str
    postgres_pid: int
    valkey_pid: int
    folder: Path


@contextmanager
def servers() -> Iterator[Servers]:
    """Those of a stack without its workers."""
    with stack("--no-workers", "--no-api") as running:
        pids = {part["name"]: part["pid"] for part in running.parts()}
        used = connections(running.environment)
        yield Servers(used.database_url, used.redis_url, pids["postgres"], pids["valkey"], running.folder)


class Memory:
    """Samples the memory of all parts of a stack while a block runs."""

    def __init__(self, running: Stack) -> None:
        self.peak_mb = 0.0
        self._parts = [psutil.Process(part["pid"]) for part in running.parts()]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> "Memory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        is_over = False
        while not is_over:
            self.peak_mb = max(self.peak_mb, sum(map(_resident_mb, self._parts)))
            is_over = self._over.wait(_SAMPLE_SECONDS)


def _resident_mb(part: psutil.Process) -> float:
    """Of a process and its children, of which any may have ended meanwhile; what processes share counts once."""
    with suppress(psutil.NoSuchProcess):
        return sum(map(memory_of, (part, *part.children(recursive=True)))) / 1e6
    return 0.0


def memory_of(process: psutil.Process) -> int:
    """Bytes of a process; of a page that several share, its part. 0 for one that has ended."""
    with suppress(psutil.NoSuchProcess):
        try:
            return int(process.memory_full_info().pss)
        # Where the system does not tell, or not this user, shared pages count for each.
        except (AttributeError, psutil.AccessDenied):
            return int(process.memory_info().rss)
    return 0
