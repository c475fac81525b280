"""`ragq up`, `down` and `status`: starts a stack in order, stops it, and says how its parts are."""

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from schemas.errors import StackError
from schemas.settings.process import ProcessSettings
from stack.connections import masked
from stack.home import Home, Part, State
from stack.logs import last_lines
from stack.parts import DEFAULTS, EMBEDDED, SERVERS, WORKERS, in_order, make_plan, servers_from_outside
from stack.probes import Ping, healthy
from stack.supervision import SUPERVISOR, Supervisor, end


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
    log: str | None = None


def status(home: Home, ping: Ping) -> list[PartStatus]:
    """Every part of the stack and every server it uses, in starting order; empty when nothing runs."""
    state = home.read_state()
    if state is None:
        return []
    supervisor = Supervisor(home)
    if not supervisor.is_running():
        return [
            PartStatus(name=name, state="orphaned", healthy=False, log=str(home.log(name)), **_measured(pid))
            for pid, name in find_orphans(home, state).items()
        ]
    supervised = supervisor.parts()
    outside = {part: urlsplit(state.servers[variable]).port for variable, part in EMBEDDED.items()}
    outside = {part: port for part, port in outside.items() if part not in state.parts}
    answering = healthy({*outside, *supervisor.up()}, state, ping)
    return [
        PartStatus(name=name, state="external", healthy=name in answering, port=outside[name])
        if name in outside
        else PartStatus(
            name=name,
            state=supervised[name]["statename"].lower(),
            healthy=name in answering,
            port=state.parts[name].port,
            log=str(home.log(name)),
            **_measured(supervised[name]["pid"] or None),
        )
        for name in in_order({*supervised, *outside})
    ]


def _measured(pid: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {"pid": pid}
    if pid is not None:
        with suppress(psutil.NoSuchProcess):
            found["uptime_s"] = round(time.time() - psutil.Process(pid).create_time(), 1)
    return found


def find_orphans(home: Home, state: State) -> dict[int, str]:
    """The processes that are provably this stack's, by pid, each with the name of its part. Proof is all three: the
    command that was recorded for the part, work inside the home, and a start after the stack's own."""
    tails = {name: part.command[1:] for name, part in state.parts.items()}
    folder = home.folder.resolve()
    found = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            command = process.cmdline()[1:]
            name = next((name for name, tail in tails.items() if command and tail[-len(command) :] == command), None)
            # The kernel rounds a start to its clock tick.
            if name and Path(process.cwd()).is_relative_to(folder) and process.create_time() > state.started - 1:
                found[process.pid] = name
    return found


def end_orphans(home: Home, state: State) -> list[str]:
    """End what `find_orphans` finds, and return the parts' names in that order. First the supervisor, so that it starts
    nothing; then what asks servers, together; then the servers, together."""
    found = find_orphans(home, state)
    ended: list[str] = []
    for group in ({SUPERVISOR}, set(state.parts) - {SUPERVISOR, *SERVERS}, set(SERVERS)):
        mine = {pid: name for pid, name in found.items() if name in group}
        with ThreadPoolExecutor(max_workers=max(len(mine), 1)) as threads:
            list(threads.map(end, mine, (state.parts[name].stop_signal for name in mine.values())))
        ended += dict.fromkeys(mine.values())
    return ended


Report = Callable[[str], None]


def down(home: Home, report: Report) -> list[str]:
    """Stop every part, servers last, and return the names of those that ran; empty when nothing did. A worker finishes
    the stages it holds, for RAGQ_STOP_SECONDS at most; what it cannot finish is due again later. Data is kept."""
    with home.locked():
        return end_all(home, report)


def end_all(home: Home, report: Report = lambda line: None) -> list[str]:
    """As `down`, by a caller that holds the lock."""
    ended = []
    supervisor = Supervisor(home)
    state = home.read_state()
    if supervisor.is_running():
        up = in_order(supervisor.up())
        # What asks servers, then the servers: a stage that lost its server would fail instead of starting again later.
        for is_server in (False, True):
            names = [name for name in up if (name in SERVERS) is is_server]
            with ThreadPoolExecutor(max_workers=max(len(names), 1)) as threads:
                stopping = {threads.submit(supervisor.stop, name): name for name in names}
                for done in as_completed(stopping):
                    done.result()
                    ended.append(stopping[done])
                    report(f"{stopping[done]:<14}stopped")
        supervisor.shutdown()
    if state is not None:
        for name in end_orphans(home, state):
            ended.append(name)
            report(f"{name:<14}left behind by a killed stack, ended")
    home.state_file.unlink(missing_ok=True)
    return ended


POLL_S = 0.1
#: A part that ends this often while it is awaited is not awaited any longer.
HOPELESS_ENDS = 3

Answering = Callable[[Collection[str]], set[str]]


def up(
    home: Home,
    environment: Mapping[str, str],
    *,
    workers: bool = True,
    api: bool = True,
    flower: bool = True,
    timeout_s: float = 120.0,
    settings: ProcessSettings = DEFAULTS,
    migrate: Callable[[str], None],
    ping: Ping,
    report: Report,
) -> list[PartStatus]:
    """Start what does not run yet, wait until each part is healthy, and return how all of them are.

    The environment's servers are used where it names them, and the processes of a fresh stack inherit all of it.
    `migrate` brings a database URL to the newest schema. `report` receives a line per step. Processes that a killed
    stack left behind are ended first. Raises StackError when a part does not get healthy within `timeout_s`; whatever
    this call started is stopped again then.
    """
    with home.locked(), ExitStack() as undo:
        supervisor = Supervisor(home)
        state = home.read_state()
        if state is None or not supervisor.is_running():
            # Parts whose state somebody removed too: nobody knows what they were started with.
            end_all(home, report)
            state = None
        running = supervisor.up() if state else set()
        outside = servers_from_outside(environment, state)
        wanted = {part for variable, part in EMBEDDED.items() if variable not in outside}
        wanted |= set(WORKERS) if workers else set()
        wanted |= {name for name, is_wanted in (("api", api), ("flower", flower)) if is_wanted}
        started = state.started if state else time.time()
        plan = make_plan(home, outside, wanted=wanted, running=running, settings=settings, started=started)
        parts = list(plan.parts.values())
        itself = Part(name=SUPERVISOR, command=supervisor.command)
        home.write_state(plan.model_copy(update={"parts": plan.parts | {SUPERVISOR: itself}}))
        if state is None:
            undo.callback(end_all, home)
            supervisor.launch(parts, environment)
        else:
            supervisor.apply(parts)

        answering = partial(healthy, state=plan, ping=ping)
        names = set(plan.parts)
        if names <= running:
            report(f"The stack in {home.folder} is already running.")
        # The language model too: a worker that takes up an interrupted stage asks it at once.
        servers = names & set(SERVERS)

        _check_outside(outside, answering)
        _start(home, supervisor, servers, undo, answering, timeout_s, report)
        started_at = time.monotonic()
        migrate(plan.servers["DATABASE_URL"])
        report(_line("schema", "up to date", started_at))
        _start(home, supervisor, names - servers, undo, answering, timeout_s, report)
        undo.pop_all()
        return status(home, ping)


def _check_outside(outside: Mapping[str, str], answering: Answering) -> None:
    found = answering({EMBEDDED[variable] for variable in outside})
    for variable, url in outside.items():
        if EMBEDDED[variable] not in found:
            raise StackError(
                f"{variable} is {masked(url)}, and nothing usable answers there. "
                f"Start that server, or unset {variable} to use an embedded one."
            )


def _start(
    home: Home,
    supervisor: Supervisor,
    names: set[str],
    undo: ExitStack,
    answering: Answering,
    timeout_s: float,
    report: Report,
) -> None:
    """Start parts and wait until they are healthy."""
    for name in sorted(names - supervisor.up()):
        undo.callback(supervisor.stop, name)
        supervisor.start(name)
    began = time.monotonic()
    waiting = set(names)
    ends: dict[str, set[int]] = {name: set() for name in names}
    while waiting:
        for name in sorted(answering(waiting)):
            waiting.discard(name)
            report(_line(name, "healthy", began))
        parts = supervisor.parts()
        for name in sorted(waiting):
            ends[name] |= {parts[name]["stop"]} - {0}
            hopeless = parts[name]["statename"] == "FATAL" or len(ends[name]) >= HOPELESS_ENDS
            if hopeless or time.monotonic() - began > timeout_s:
                found = "ends as soon as it is started" if hopeless else f"is not healthy after {timeout_s:g} s"
                log = home.log(name)
                raise StackError(f"{name} {found}. The end of {log}:\n{last_lines(log)}")
        time.sleep(POLL_S)


def _line(name: str, found: str, began: float) -> str:
    return f"{name:<14}{found:<12}{time.monotonic() - began:6.1f} s"
