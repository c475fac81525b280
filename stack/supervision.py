"""supervisord, which keeps the parts alive: its configuration, and the calls over its socket; and ends of processes."""

import http.client
import os
import shlex
import signal
import subprocess
import sys
import time
import xmlrpc.client
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psutil
from supervisor.xmlrpc import Faults, SupervisorTransport

from schemas.errors import StackError
from stack.home import Home, Part, write_private
from stack.probes import WORKER

#: The name under which the supervisor itself is recorded and logs.
SUPERVISOR = "supervisor"
#: The listener, and its log.
HEARTBEATS = "heartbeats"
POLL_S = 0.05


class Supervisor:
    """The supervisor of one home, running or not."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self.command = [sys.executable, "-m", "supervisor.supervisord", "-c", str(home.supervisor_config)]

    def is_running(self) -> bool:
        """It answers on its socket."""
        try:
            with self._calls() as calls:
                calls.getState()
        except (OSError, http.client.HTTPException, xmlrpc.client.Error):
            return False
        return True

    def launch(self, parts: Sequence[Part], environment: Mapping[str, str]) -> None:
        """Start the supervisor in the background, with no part running yet. All parts inherit the environment."""
        write_private(self._home.supervisor_config, configuration(self._home, parts))
        done = subprocess.run(
            self.command, env=environment, cwd=self._home.folder, capture_output=True, text=True, check=False
        )
        deadline = time.monotonic() + 15
        while not self.is_running():
            if done.returncode != 0 or time.monotonic() > deadline:
                raise StackError(f"The supervisor did not start:\n{done.stdout}{done.stderr}")
            time.sleep(POLL_S)

    def apply(self, parts: Sequence[Part]) -> None:
        """Give a running supervisor its new parts. Parts whose command or environment changed are stopped."""
        write_private(self._home.supervisor_config, configuration(self._home, parts))
        with self._calls() as calls:
            [(added, changed, removed)] = calls.reloadConfig()
            for name in (*changed, *removed):
                self.stop(name)
                calls.removeProcessGroup(name)
            for name in (*added, *changed):
                calls.addProcessGroup(name)

    def parts(self) -> dict[str, dict[str, Any]]:
        """What supervisord says of each part: its `statename`, its `pid`, 0 without a process, and the time of its last
        end in seconds since 1970 as `stop`, 0 before any."""
        with self._calls() as calls:
            return {info["name"]: info for info in calls.getAllProcessInfo() if info["group"] != HEARTBEATS}

    def up(self) -> set[str]:
        """The parts of which a process runs, or is about to."""
        return {name for name, part in self.parts().items() if part["statename"] in ("STARTING", "RUNNING")}

    def start(self, part: str) -> None:
        """Start a part without waiting for it. Raises StackError when its program cannot be executed."""
        with self._calls() as calls:
            try:
                calls.startProcess(part, False)
            except xmlrpc.client.Fault as fault:
                if fault.faultCode not in (Faults.ALREADY_STARTED, Faults.SPAWN_ERROR):
                    raise StackError(f"{part} cannot be started: {fault.faultString}") from fault

    def stop(self, part: str) -> None:
        """Stop a part and wait until it has ended."""
        with self._calls() as calls:
            try:
                calls.stopProcess(part, True)
            except xmlrpc.client.Fault as fault:
                if fault.faultCode != Faults.NOT_RUNNING:
                    raise

    def shutdown(self) -> None:
        """End the supervisor, and what it still runs, and wait for it."""
        with self._calls() as calls:
            pid = calls.getPID()
            calls.shutdown()
        wait_for_end(pid)

    @contextmanager
    def _calls(self) -> Iterator[Any]:
        transport = SupervisorTransport(serverurl=f"unix://{self._home.supervisor_socket}")
        # The URL is only there for form's sake: the transport knows the socket.
        with xmlrpc.client.ServerProxy("http://localhost", transport=transport) as proxy:
            yield proxy.supervisor


def configuration(home: Home, parts: Sequence[Part]) -> str:
    """The supervisor's configuration file. A later part is stopped before an earlier one."""
    sections = _section(
        "supervisord",
        logfile=home.log(SUPERVISOR),
        logfile_maxbytes="5MB",
        logfile_backups=2,
        pidfile=home.supervisor_pid,
        directory=home.folder,
        umask="077",
        user="root" if os.geteuid() == 0 else None,
    )
    sections += _section("unix_http_server", file=home.supervisor_socket, chmod="0600")
    factory = {"supervisor.rpcinterface_factory": "supervisor.rpcinterface:make_main_rpcinterface"}
    sections += _section("rpcinterface:supervisor", **factory)
    for priority, part in enumerate(parts, start=1):
        # A part that runs for 2 s counts as started. One that does not is started again after 1, 2, 3 ... s, 20 times:
        # long enough for a server to come back, short enough that a broken part ends as FATAL.
        sections += _section(
            f"program:{part.name}",
            command=shlex.join(part.command),
            directory=home.folder,
            environment=",".join(f'{name}="{value}"' for name, value in part.environment.items()),
            autostart="false",
            autorestart="true",
            startsecs=2,
            startretries=20,
            stopsignal=part.stop_signal.name.removeprefix("SIG"),
            stopwaitsecs=part.stop_timeout_s,
            killasgroup="true",
            redirect_stderr="true",
            stdout_logfile=home.log(part.name),
            stdout_logfile_maxbytes="10MB",
            stdout_logfile_backups=3,
            user=part.user,
            priority=priority,
        )
    if any(part.name.startswith(WORKER) for part in parts):
        # It ends workers without a heartbeat, which are then started again as any other part that was killed.
        sections += _section(
            f"eventlistener:{HEARTBEATS}",
            command=shlex.join([sys.executable, "-P", "-m", "stack.heartbeats", "--listen"]),
            directory=home.folder,
            environment=f'RAGQ_HOME="{home.folder}"',
            events="TICK_5",
            autorestart="true",
            stderr_logfile=home.log(HEARTBEATS),
            stderr_logfile_maxbytes="5MB",
            stderr_logfile_backups=2,
        )
    return sections


def _section(name: str, **values: object) -> str:
    """A section in which the supervisor expands nothing; a value that is None is left out."""
    lines = [f"{key}={value}" for key, value in values.items() if value is not None]
    return "\n".join((f"[{name}]", *lines, "", "")).replace("%", "%%")


STOP_TIMEOUT_S = 30.0


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
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        family = [parent, *parent.children(recursive=True)]
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        _are_gone(family)


def _are_gone(processes: Collection[psutil.Process]) -> bool:
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while any(_is_alive(process) for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _is_alive(process: psutil.Process) -> bool:
    """The process can still do something. One that only waits for its parent to take notice cannot."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
