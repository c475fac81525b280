"""A temporary stack, as `ragq up` starts it on a new machine."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import click
import psutil

from benchmarks.contestants import PROJECT
from stack.status import memory_of

SERVERS: Final = ("DATABASE_URL", "REDIS_URL", "OLLAMA_HOST", "OLLAMA_PORT", "RAGQ_OPENAI_BASE_URL")
_SAMPLE_SECONDS = 2.0


class Stack:
    """A running stack, used through its commands."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        """For files of the benchmark; the stack keeps its own below it."""
        home = folder / "home"
        kept = {name: value for name, value in os.environ.items() if name not in SERVERS}
        self.environment: Mapping[str, str] = kept | {"RAGQ_HOME": str(home), "RAGQ_PROFILE": "demo", **environment}
        """Of every command."""
        self._log = home / "logs" / "worker-model.log"

    def ragq(self, *arguments: str) -> str:
        """The output of a command with exit code 0."""
        ran = subprocess.run(
            [Path(sys.executable).with_name("ragq"), *arguments],
            cwd=PROJECT,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            raise click.ClickException(f"ragq {' '.join(arguments)} ended with {ran.returncode}:\n{ran.stderr}")
        return ran.stdout

    def asked(self, *arguments: str) -> Any:
        """The JSON output of a command."""
        return json.loads(self.ragq(*arguments, "--json"))

    def ran(self, *arguments: str) -> str:
        """Submit these and wait. The run, as in r12; all of its jobs succeeded."""
        run: str = self.asked("submit", *arguments)["run"]
        self.ragq("watch", run)
        return run

    def encoded(self) -> list[dict[str, Any]]:
        """The log's lines about texts that went through the embedding model, so far."""
        lines = (line for line in self._log.read_text().splitlines() if line.startswith("{"))
        return [event for event in map(json.loads, lines) if event["event"] == "texts_encoded"]


@contextmanager
def stack(**environment: str) -> Iterator[Stack]:
    """A separate stack, until the block ends, with servers and settings of its own where `environment` names them."""
    with tempfile.TemporaryDirectory(prefix="ragq-benchmark-") as name:
        folder = Path(name)
        # Postgres does not run as root: another account has to reach its folder.
        folder.chmod(0o711)
        running = Stack(folder, environment)
        running.ragq("up", "--no-flower")
        try:
            yield running
        finally:
            running.ragq("down")


class Memory:
    """Samples the memory of all parts of a stack while a block runs."""

    def __init__(self, running: Stack) -> None:
        self.peak_mb = 0.0
        self.parts_mb: dict[str, float] = {}
        """Of each part, when the whole was at its peak."""
        self._parts = {part["name"]: psutil.Process(part["pid"]) for part in running.asked("ps")}
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
            now = {name: _resident_mb(part) for name, part in self._parts.items()}
            if sum(now.values()) > self.peak_mb:
                self.peak_mb, self.parts_mb = sum(now.values()), now
            is_over = self._over.wait(_SAMPLE_SECONDS)


def _resident_mb(part: psutil.Process) -> float:
    """Of a process and its children, of which any may have ended meanwhile; what processes share counts once."""
    with suppress(psutil.NoSuchProcess):
        return sum(map(memory_of, (part, *part.children(recursive=True)))) / 1e6
    return 0.0
