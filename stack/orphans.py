"""Processes of a stack whose supervisor is gone."""

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from stack.home import Home, State
from stack.parts import SERVERS
from stack.processes import end
from stack.supervision import SUPERVISOR


def find_orphans(home: Home, state: State) -> dict[int, str]:
    """The processes that are provably this stack's, by pid, each with the name of its part.

    Proof is all three: the command that was recorded for the part, work inside the home, and a start after the
    stack's own.
    """
    tails = {name: part.command[1:] for name, part in state.parts.items()}
    found = {}
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
            name = next((name for name, tail in tails.items() if command[1:] and _ends_with(tail, command[1:])), None)
            # The kernel rounds a start to its clock tick.
            if name and _is_inside(home, process) and process.create_time() > state.started - 1:
                found[process.pid] = name
        except psutil.Error:
            continue
    return found


def end_orphans(home: Home, state: State) -> list[str]:
    """End what `find_orphans` finds, and return the parts' names in that order.

    First the supervisor, so that it starts nothing; then what asks servers, together; then the servers, together.
    """
    found = find_orphans(home, state)
    ended: list[str] = []
    for group in ({SUPERVISOR}, set(state.parts) - {SUPERVISOR, *SERVERS}, set(SERVERS)):
        mine = {pid: name for pid, name in found.items() if name in group}
        with ThreadPoolExecutor(max_workers=max(len(mine), 1)) as threads:
            list(threads.map(_end, mine, mine.values()))
        ended += dict.fromkeys(mine.values())
    return ended


def _end(pid: int, name: str) -> None:
    end(pid, signal.SIGINT if name == "postgres" else signal.SIGTERM)


def _ends_with(whole: list[str], tail: list[str]) -> bool:
    return whole[-len(tail) :] == tail


def _is_inside(home: Home, process: psutil.Process) -> bool:
    return Path(process.cwd()).is_relative_to(home.folder.resolve())
