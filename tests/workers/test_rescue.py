"""When a silent worker is asked where it hangs: faulthandler's answer could crash one whose threads run."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from stack import log_config
from workers.rescue import Rescue
from workers.watchdog_orders import ASK, Orders

#: Of two signals that wait, the lower number comes first.
MARK = signal.SIGRTMIN

# One handler may interrupt the other, which print() does not bear.
WORKER = f"""
import os, signal, time
signal.signal({int(ASK)}, lambda *_: os.write(1, b"asked\\n"))
signal.signal({int(MARK)}, lambda *_: os.write(1, b"marked\\n"))
print("ready", flush=True)
while True:
    # A signal that comes just before a sleep is answered after it.
    time.sleep(0.01)
"""


@pytest.fixture
def worker() -> Iterator["subprocess.Popen[str]"]:
    """A process that says when it is asked."""
    process = subprocess.Popen([sys.executable, "-c", WORKER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture
def rescue(worker: "subprocess.Popen[str]", database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rescue]:
    """The rescue of that process."""
    monkeypatch.setattr(log_config, "configure", lambda *_: None)
    orders = Orders(
        pid=worker.pid,
        worker_id="worker",
        database_url=database_url,
        lease_s=60,
        heartbeat_s=1,
        hung_s=600,
        log_level="info",
        log_format="json",
    )
    rescue = Rescue(orders)
    yield rescue
    rescue.report_recovery()


def asked(worker: "subprocess.Popen[str]") -> int:
    """How often it was asked since the last look."""
    assert worker.stdout is not None
    worker.send_signal(MARK)
    lines = []
    while (line := worker.stdout.readline()) != "marked\n":
        assert line, "The worker ended."
        lines.append(line)
    return lines.count("asked\n")


def test_a_silent_worker_is_asked_once_after_two_heartbeats(rescue: Rescue, worker: "subprocess.Popen[str]") -> None:
    rescue.hold(30, "")
    before = asked(worker)
    rescue.hold(31, "")
    at_two = asked(worker)
    rescue.hold(32, "")
    rescue.hold(33, "")

    assert (before, at_two, asked(worker)) == (0, 1, 0)


def test_a_suspended_worker_is_not_asked_and_one_that_died_is_left_alone(
    rescue: Rescue, worker: "subprocess.Popen[str]"
) -> None:
    os.kill(worker.pid, signal.SIGSTOP)
    os.waitpid(worker.pid, os.WUNTRACED)
    for hung_for_s in range(30, 35):
        rescue.hold(hung_for_s, "")
    os.kill(worker.pid, signal.SIGCONT)
    assert not asked(worker)

    worker.kill()
    worker.wait()
    rescue.hold(36, "")
