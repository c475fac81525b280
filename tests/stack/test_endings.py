import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from stack import processes

pytestmark = pytest.mark.servers

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {STUBBORN!r}])"


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        started.stdout.readline()
        yield started


def test_killing_a_tree_ends_its_children_too(process: subprocess.Popen[bytes]) -> None:
    [child] = psutil.Process(process.pid).children()
    processes.kill_tree(process.pid)
    assert process.wait() == -signal.SIGKILL
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_a_process_that_does_not_listen_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "STOP_TIMEOUT_S", 0.2)
    with subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE) as stubborn:
        assert stubborn.stdout is not None
        stubborn.stdout.readline()
        processes.end(stubborn.pid, signal.SIGTERM)
        assert stubborn.wait() == -signal.SIGKILL


def test_ending_a_finished_process_does_nothing() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    processes.end(gone.pid, signal.SIGTERM)
    processes.kill_tree(gone.pid)
