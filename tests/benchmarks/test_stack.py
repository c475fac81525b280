"""Commands and measurements of a benchmark's stack."""

import os
import subprocess
import sys
from typing import Any

import psutil

from benchmarks.stack import Memory, Stack


class OneProcess(Stack):
    """A stack of one part."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def asked(self, *arguments: str) -> Any:
        assert arguments == ("ps",)
        return [{"name": "one", "pid": self._pid}]


class Recorded(Stack):
    """Keeps the commands it was given."""

    def __init__(self) -> None:
        self.commands: list[tuple[str, ...]] = []

    def ragq(self, *arguments: str) -> str:
        self.commands.append(arguments)
        return '{"run": "r7"}' if arguments[0] == "submit" else ""


def test_a_run_is_submitted_and_watched_to_its_end() -> None:
    stack = Recorded()

    assert stack.ran("--query", "Why?") == "r7"
    assert stack.commands == [("submit", "--query", "Why?", "--json"), ("watch", "r7")]


def test_memory_is_that_of_the_parts() -> None:
    with Memory(OneProcess(os.getpid())) as memory:
        pass

    assert memory.peak_mb >= psutil.Process().memory_info().rss / 2e6


def test_a_part_that_has_ended_takes_no_memory() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    memory = Memory(OneProcess(process.pid))
    process.communicate(b"\n")

    with memory:
        pass

    assert memory.peak_mb == 0
