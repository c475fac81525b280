"""The command lines of ragq's own processes."""

import signal
import sys
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import get_args

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
