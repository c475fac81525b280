"""Processes of ragq, forked from one that has imported everything already.

They run what a shell would start: the entry of `ragq` or of `celery`, with arguments, environment,
folder, session and output of its own. Only the time of importing is saved, once for all processes of the tests.
"""

import marshal
import os
import select
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tests import run_folder

STREAMS: Final = 3
MARK: Final = b"ragq"
"""What the three streams of a process are sent with."""
NUMBER: Final = struct.Struct("i")
"""A process's id, and later its exit code."""

_PROGRAM: Final = """#!{python} -IS
import marshal, os, signal, socket, struct, sys

PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [{mark!r}], range({streams}))
    server.sendall(marshal.dumps(("ragq", sys.argv[1:], os.getcwd(), dict(os.environ))))
    pid, = struct.unpack("i", server.recv(4))
    for number in PASSED_ON:
        signal.signal(number, lambda number, _frame: os.kill(pid, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    code, = struct.unpack("i", server.recv(4))
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


class Output(NamedTuple):
    """Where a process prints; both may be the same file."""

    stdout: Path
    stderr: Path


class Forked:
    """`ragq ARGUMENTS`, or `python -m PROGRAM ARGUMENTS` for any other program, from its start on."""

    def __init__(
        self, program: str, *arguments: str, environment: Mapping[str, str], folder: Path, output: Output
    ) -> None:
        self.exit_code: int | None = None
        self._server = socket.socket(socket.AF_UNIX)
        self._server.connect(_address())
        streams = [os.open(os.devnull, os.O_RDONLY)]
        streams += [os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for path in output]
        socket.send_fds(self._server, [MARK], streams)
        for stream in streams:
            os.close(stream)
        self._server.sendall(marshal.dumps((program, list(arguments), str(folder), dict(environment))))
        self.pid = self._number()

    def join(self, timeout_s: float | None = None) -> None:
        """Wait until it has ended, or for so long."""
        if self.exit_code is None and select.select([self._server], [], [], timeout_s)[0]:
            self.exit_code = self._number()
            self._server.close()

    @property
    def is_alive(self) -> bool:
        self.join(0)
        return self.exit_code is None

    def signal(self, number: int) -> None:
        """Send it a signal, if it has not ended."""
        if self.is_alive:
            os.kill(self.pid, number)

    def _number(self) -> int:
        number: int
        (number,) = NUMBER.unpack(self._server.recv(NUMBER.size))
        return number


def forked_ragq() -> Path:
    """A folder for the PATH of shell scripts, with a `ragq` whose commands are forked.

    The program hands arguments, folder, environment and its three streams to the server. It passes on the signals that
    it gets, and ends as the command ends.
    """
    folder = run_folder.new_folder()
    program = folder / "ragq"
    program.write_text(_PROGRAM.format(python=sys.executable, address=_address(), mark=MARK, streams=STREAMS))
    program.chmod(0o755)
    return folder


def _address() -> str:
    """Where the server listens, which the first process that asks starts. It ends with the run of the tests."""

    def start() -> str:
        address = str(run_folder.path() / "forks")
        # It ends when the server listens, which runs on.
        command = [sys.executable, "-m", "tests.acceptance.fork_server", address]
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        return address

    return run_folder.once("fork_server", start)
