"""The commands of parts, and their ends."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from schemas.chains import CHAINS, QUEUES
from stack import processes
from stack.processes import WORKER_CONCURRENCY, WORKER_QUEUES, flower_command, llm_command

OPERATIONS = Path(__file__).parents[2] / "docs/operations.md"


def test_a_worker_takes_the_stages_of_its_group_and_no_other() -> None:
    of_model = {stage.name for chain in CHAINS.values() for stage in chain if stage.group == "model"}
    of_llm = {stage.name for chain in CHAINS.values() for stage in chain if stage.group == "llm"}
    assert {name: set(queues) for name, queues in WORKER_QUEUES.items()} == {
        "model": of_model | {f"{stage}.local" for stage in of_llm},
        "llm": of_llm,
    }
    assert sorted(queue for queues in WORKER_QUEUES.values() for queue in queues) == sorted(QUEUES)


def test_the_docs_start_the_workers_that_the_stack_starts() -> None:
    started = re.findall(r"^ragq worker --stages (\S+) --concurrency (\d+)$", OPERATIONS.read_text(), re.MULTILINE)
    assert started == [(name, str(concurrency)) for name, concurrency in WORKER_CONCURRENCY.items()]


def test_what_has_no_password_of_its_own_listens_on_loopback() -> None:
    assert "--address=127.0.0.1" in flower_command(5555)
    assert llm_command(9000)[-4:] == ["--host", "127.0.0.1", "--port", "9000"]


STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {STUBBORN!r}])"


@contextmanager
def running(program: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program that has printed a line."""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        started.stdout.readline()
        yield started


def test_killing_a_tree_ends_its_children_too() -> None:
    with running(PARENT) as process:
        [child] = psutil.Process(process.pid).children()
        processes.kill_tree(process.pid)
        assert process.wait() == -signal.SIGKILL
        assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_a_process_that_does_not_listen_is_killed_and_ending_it_again_does_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "STOP_TIMEOUT_S", 0.2)
    with running(STUBBORN) as stubborn:
        processes.end(stubborn.pid, signal.SIGTERM)
        assert stubborn.wait() == -signal.SIGKILL
        processes.end(stubborn.pid, signal.SIGTERM)
        processes.kill_tree(stubborn.pid)
