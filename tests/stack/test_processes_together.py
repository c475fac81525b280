"""Processes that run and end together."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.eventually import eventually

until = partial(eventually, timeout_s=20)

RUN = """
import sys
from stack import processes
processes.HOPELESS_S = float(sys.argv[1])
sys.exit(processes.run_together([[sys.executable, "-c", code] for code in sys.argv[2:]], {{"FOLDER": {folder!r}}}))
"""
#: Writes its id into the folder, and that it was asked to end.
WORKER = """
import os, pathlib, signal, sys, time
me = pathlib.Path(os.environ["FOLDER"], str(os.getpid()))
me.write_text("runs")
signal.signal(signal.SIGTERM, lambda *_: (me.write_text("ended"), sys.exit(0)))
time.sleep(60)
"""


@contextmanager
def running(folder: Path, *codes: str, hopeless_s: float = 0.0) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", RUN.format(folder=str(folder)), str(hopeless_s), *codes]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2]) as process:
        yield process
        process.kill()


def states(folder: Path) -> list[str]:
    return sorted(path.read_text() for path in folder.iterdir())


def test_a_signal_ends_every_process(tmp_path: Path) -> None:
    with running(tmp_path, WORKER, WORKER) as together:
        until(lambda: states(tmp_path) == ["runs", "runs"])
        together.terminate()
        assert together.wait(20) == 0
    assert states(tmp_path) == ["ended", "ended"]


def test_a_process_that_dies_is_started_again(tmp_path: Path) -> None:
    with running(tmp_path, WORKER, WORKER) as together:
        until(lambda: states(tmp_path) == ["runs", "runs"])
        os.kill(int(next(tmp_path.iterdir()).name), signal.SIGKILL)
        until(lambda: states(tmp_path) == ["runs", "runs", "runs"])
        together.terminate()
        together.wait(20)


def test_one_that_cannot_start_ends_the_others(tmp_path: Path) -> None:
    with running(tmp_path, WORKER, "import time; time.sleep(1); raise SystemExit(3)", hopeless_s=30) as together:
        assert together.wait(20) == 3
    assert states(tmp_path) == ["ended"]


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel")
def test_none_is_left_when_the_first_process_is_killed(tmp_path: Path) -> None:
    with running(tmp_path, WORKER) as together:
        until(lambda: states(tmp_path) == ["runs"])
        together.kill()
        until(lambda: states(tmp_path) == ["ended"])
        pid = int(next(tmp_path.iterdir()).name)
        until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
