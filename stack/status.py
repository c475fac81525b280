"""How the parts of a stack are, also those whose supervisor is gone."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from stack.home import Home, State
from stack.parts import EMBEDDED, SERVERS, in_order
from stack.probes import Ping, healthy
from stack.processes import end
from stack.supervision import SUPERVISOR, Supervisor


@dataclass(frozen=True, kw_only=True)
class PartStatus:
    """How one part is."""

    name: str
    #: The supervisor's word, `external` for a server from outside, `orphaned` for a process without supervisor.
    state: str
    healthy: bool
    pid: int | None = None
    port: int | None = None
    uptime_s: float | None = None
    #: Memory of the process and its children; what processes share counts once.
    memory_mb: float | None = None
    log: str | None = None


def status(home: Home, ping: Ping) -> list[PartStatus]:
    """Every part of the stack and every server it uses, in starting order; empty when nothing runs."""
    state = home.read_state()
    if state is None:
        return []
    supervisor = Supervisor(home)
    if not supervisor.is_running():
        return [_measured(home, name, "orphaned", pid) for pid, name in find_orphans(home, state).items()]
    supervised = supervisor.parts()
    outside = {part: urlsplit(state.servers[variable]).port for variable, part in EMBEDDED.items()}
    outside = {part: port for part, port in outside.items() if part not in state.parts}
    answering = healthy({*outside, *(name for name, part in supervised.items() if part.is_up)}, state, ping)
    return [
        PartStatus(name=name, state="external", healthy=name in answering, port=outside[name])
        if name in outside
        else _measured(
            home,
            name,
            supervised[name].state,
            supervised[name].pid,
            healthy=name in answering,
            port=state.parts[name].port,
        )
        for name in in_order({*supervised, *outside})
    ]


def _measured(
    home: Home, name: str, state: str, pid: int | None, *, healthy: bool = False, port: int | None = None
) -> PartStatus:
    uptime_s, memory_mb = None, None
    if pid is not None:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            uptime_s = round(time.time() - process.create_time(), 1)
            family = [process, *process.children(recursive=True)]
            memory_mb = round(sum(map(memory_of, family)) / 1e6, 1)
    return PartStatus(
        name=name,
        state=state,
        healthy=healthy,
        pid=pid,
        port=port,
        uptime_s=uptime_s,
        memory_mb=memory_mb,
        log=str(home.log(name)),
    )


def memory_of(process: psutil.Process) -> int:
    """Bytes of a process; of a page that several share, its part. 0 for one that has ended."""
    with suppress(psutil.NoSuchProcess):
        try:
            return int(process.memory_full_info().pss)
        # Where the system does not tell, or not this user, shared pages count for each.
        except (AttributeError, psutil.AccessDenied):
            return int(process.memory_info().rss)
    return 0


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
