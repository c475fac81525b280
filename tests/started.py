"""Servers of the tests: real processes, started and ended here."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

START_TIMEOUT_S = 300.0
STOP_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class StartedServer:
    """A process whose log names the port it listens on."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path


@contextmanager
def started(*arguments: str, ready_line: str, log: Path) -> Iterator[StartedServer]:
    """Run `python ARGUMENTS` until the block ends. `ready_line` is a regular expression with the port as its group."""
    with log.open("wb") as file:
        process = subprocess.Popen([sys.executable, *arguments], stdout=file, stderr=file, stdin=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_TIMEOUT_S
        while (found := re.search(ready_line, log.read_text())) is None:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield StartedServer(process, f"http://127.0.0.1:{found[1]}", log)
    finally:
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        finally:
            process.kill()


@contextmanager
def started_llm_server(log: Path) -> Iterator[StartedServer]:
    """The embedded LLM server on a port of its own choice."""
    with started(
        "-m", "stack.llm_server", "--port", "0", ready_line=r"llm_server_ready .*port=(\d+)", log=log
    ) as server:
        yield server
