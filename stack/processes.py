"""The command lines of ragq's own processes."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Final, get_args

import psutil

from schemas.chains import Group, queues_of_group
from stack.ports import LOOPBACK

#: Which worker takes which queues: slow generation never holds up the model in the process.
WORKER_QUEUES: dict[str, tuple[str, ...]] = {group: queues_of_group(group) for group in get_args(Group)}
#: Tasks in flight per worker. The batcher gathers its batches from them. A server of language models may have 16
#: slots, and some stages are read or stored meanwhile.
WORKER_CONCURRENCY: dict[str, int] = {"model": 16, "llm": 20}


CELERY = (sys.executable, "-m", "celery", "-A", "workers.main")
FLOWER_COLUMNS = "name,uuid,kwargs,state,received,runtime,worker"
FLOWER_USER = "ragq"
#: Tasks that it keeps: about 4 KB each, and its own default is twenty times as many.
FLOWER_TASKS = 5000
#: Of its histogram of runtimes, in seconds: its own end at 10, and a stage of a language model takes minutes.
FLOWER_BUCKETS = "0.01,0.1,0.5,1,5,10,30,60,120,300,600,1800"


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_processes(queues: Collection[str], concurrency: int) -> int:
    """How many processes work on queues: one a core, but one alone where stages hold models, of which each has its own.

    Never more than stages are worked on at a time.
    """
    return 1 if set(queues) & set(WORKER_QUEUES["model"]) else min(cores(), concurrency)


def worker_command(name: str, queues: Sequence[str], concurrency: int) -> list[str]:
    """A Celery worker called `name@host` on some queues. Connections come by environment."""
    return [
        *CELERY,
        "worker",
        f"--concurrency={concurrency}",
        f"--queues={','.join(queues)}",
        f"--hostname={name}@%h",
        "--task-events",
        "--without-gossip",
        "--without-mingle",
        "--loglevel=WARNING",
    ]


def flower_command(port: int) -> list[str]:
    """Flower. The password comes by FLOWER_BASIC_AUTH. What it saw is lost when it ends: Postgres has it all."""
    return [
        *CELERY,
        "flower",
        f"--address={LOOPBACK}",
        f"--port={port}",
        f"--tasks-columns={FLOWER_COLUMNS}",
        f"--max-tasks={FLOWER_TASKS}",
        f"--task-runtime-metric-buckets={FLOWER_BUCKETS}",
    ]


def api_command() -> list[str]:
    """The API and its pages. Where it listens comes by RAGQ_API_HOST and RAGQ_API_PORT, connections likewise."""
    return [sys.executable, "-m", "api.server"]


def llm_command(port: int) -> list[str]:
    """The embedded language model behind Ollama's HTTP API, on loopback."""
    return [sys.executable, "-m", "stack.llm_server", "--host", LOOPBACK, "--port", str(port)]


#: A process that ends sooner after its start would end again.
HOPELESS_S: Final = 10.0
_POLL_S: Final = 0.1
_PR_SET_PDEATHSIG: Final = 1


def run_together(commands: Sequence[Sequence[str]], environment: Mapping[str, str]) -> int:
    """Run the commands until this process gets SIGTERM or SIGINT, which each of them then gets too.

    A process that ends by itself is started again, unless it had just been started: then the others are stopped.
    Returns the exit code: 0 after a signal, else that of the process that ended.
    """
    together = _Together(environment)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, together.pass_on)
    for command in commands:
        together.start(command)
    while together.is_running():
        time.sleep(_POLL_S)
    return together.exit_code


class _Together:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._processes: list[tuple[subprocess.Popen[bytes], Sequence[str], float]] = []
        self._is_stopping = False
        self.exit_code = 0

    def start(self, command: Sequence[str]) -> None:
        process = subprocess.Popen(
            command,
            env=self._environment,
            # Ctrl-C reaches this process alone, so that each of the others gets it once.
            start_new_session=True,
            preexec_fn=_end_with_parent if sys.platform == "linux" else None,
        )
        self._processes.append((process, command, time.monotonic()))

    def pass_on(self, number: int, _frame: object) -> None:
        self._is_stopping = True
        self._signal(number)

    def is_running(self) -> bool:
        """Whether anything runs, after what has ended by itself was started again."""
        ended = [one for one in self._processes if one[0].poll() is not None]
        self._processes = [one for one in self._processes if one not in ended]
        for process, command, started in ended:
            if self._is_stopping:
                continue
            if time.monotonic() - started >= HOPELESS_S:
                self.start(command)
            else:
                self.exit_code = process.returncode if process.returncode > 0 else 1
                self.pass_on(signal.SIGTERM, None)
        return bool(self._processes)

    def _signal(self, number: int) -> None:
        for process, _, _ in self._processes:
            process.send_signal(number)


def _end_with_parent() -> None:
    """Between fork and exec: get SIGTERM when this process's parent is killed, as nobody else would stop it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


STOP_TIMEOUT_S = 30.0
POLL_S = 0.02


def end(pid: int, stop_signal: signal.Signals) -> None:
    """Ask a process to end; kill it and all below it after 30 s. One that is gone is fine."""
    with suppress(psutil.NoSuchProcess):
        psutil.Process(pid).send_signal(stop_signal)
        wait_for_end(pid)


def wait_for_end(pid: int) -> None:
    """Wait for a process that was asked to end; kill it and all below it after 30 s."""
    with suppress(psutil.NoSuchProcess):
        if not _are_gone([psutil.Process(pid)]):
            kill_tree(pid)


def kill_tree(pid: int) -> None:
    """SIGKILL a process and all below it, and wait until they are gone. One that is gone is fine."""
    try:
        parent = psutil.Process(pid)
        family = [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for process in family:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    _are_gone(family)


def _are_gone(processes: Collection[psutil.Process]) -> bool:
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while any(_is_alive(process) for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def _is_alive(process: psutil.Process) -> bool:
    """The process can still do something. One that only waits for its parent to take notice cannot."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
