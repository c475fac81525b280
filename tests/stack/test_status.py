"""The memory of the parts of a stack, and processes that a killed one left behind."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from stack.home import Home, Part, State
from stack.status import end_orphans, find_orphans, memory_of

SHARED = 100_000_000
FORKS = f"""
import os, sys
shared = b"x" * {SHARED}
os.fork()
os.write(1, b"ready\\n")
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell how much a process shares")
def test_what_processes_share_counts_once() -> None:
    command = [sys.executable, "-c", FORKS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [b"ready\n"] * 2
        parent = psutil.Process(process.pid)
        family = [parent, *parent.children()]

        assert sum(one.memory_info().rss for one in family) > 2 * SHARED
        assert SHARED < sum(map(memory_of, family)) < 1.5 * SHARED


SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@contextmanager
def sleeping(folder: Path) -> Iterator[int]:
    with subprocess.Popen(SLEEP, cwd=folder) as process:
        yield process.pid
        process.kill()


def state(started: float, command: list[str] = SLEEP) -> State:
    parts = {"valkey": Part(name="valkey", command=command)}
    return State(started=started, servers={}, flower_url=None, parts=parts)


def test_a_recorded_command_inside_the_home_that_is_younger_than_the_stack_is_ours_and_ended(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    started = time.time()
    with sleeping(tmp_path) as pid:
        assert find_orphans(Home(tmp_path / "home"), state(started)) == {}
        assert find_orphans(Home(tmp_path), state(time.time() + 10)) == {}
        assert find_orphans(Home(tmp_path), state(started)) == {pid: "valkey"}
        assert end_orphans(Home(tmp_path), state(started)) == ["valkey"]
        assert find_orphans(Home(tmp_path), state(started)) == {}
