"""The memory of the parts of a stack."""

import subprocess
import sys

import psutil
import pytest

from stack.status import memory_of

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
    process = subprocess.Popen([sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert [process.stdout.readline() for _ in range(2)] == [b"ready\n"] * 2
        parent = psutil.Process(process.pid)
        family = [parent, *parent.children()]

        assert sum(one.memory_info().rss for one in family) > 2 * SHARED
        assert SHARED < sum(map(memory_of, family)) < 1.5 * SHARED
    finally:
        for one in [*psutil.Process(process.pid).children(), psutil.Process(process.pid)]:
            one.kill()
        process.communicate()
