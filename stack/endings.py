"""How processes end: by request, else by force, and surely."""

import signal
import time
from collections.abc import Collection
from contextlib import suppress

import psutil

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
