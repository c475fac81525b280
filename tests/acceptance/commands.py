"""A `ragq` for shell scripts whose commands are forked from a process that has imported everything already.

The program on the PATH hands arguments, folder, environment and its three streams to that process. It passes on the
signals that it gets, and ends as the command ends.
"""

import marshal
import multiprocessing
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests import run_folder
from tests.acceptance.forked import FORKS, become, run_ragq

_CHILDREN: Final = multiprocessing.get_context("fork")
_STREAMS: Final = (0, 1, 2)

_PROGRAM: Final = """#!{python} -IS
import marshal, os, signal, socket, sys

PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"ragq"], {streams})
    with server.makefile("rwb") as file:
        marshal.dump((sys.argv[1:], os.getcwd(), dict(os.environ)), file)
        file.flush()
        pid = marshal.load(file)
        for number in PASSED_ON:
            signal.signal(number, lambda number, _frame: os.kill(pid, number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        code = marshal.load(file)
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


@contextmanager
def forked_ragq() -> Iterator[Path]:
    """A folder for the PATH, with a `ragq` that works until the block ends."""
    folder = run_folder.new_folder()
    address = folder / "socket"
    program = folder / "ragq"
    program.write_text(_PROGRAM.format(python=sys.executable, address=str(address), streams=_STREAMS))
    program.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(address))
        listening.listen()
        server = FORKS.Process(target=_serve, args=(listening,))
        server.start()
    try:
        yield folder
    finally:
        server.kill()
        server.join()


def _serve(listening: socket.socket) -> None:
    while True:
        connection, _ = listening.accept()
        with connection:
            _CHILDREN.Process(target=_answer, args=(connection,)).start()


def _answer(connection: socket.socket) -> None:
    """Run one command, and say its process id and how it ended."""
    _, streams, _, _ = socket.recv_fds(connection, len(b"ragq"), len(_STREAMS))
    with connection.makefile("rwb") as file:
        arguments, folder, environment = marshal.load(file)
        command = _CHILDREN.Process(target=_run, args=(connection, streams, arguments, folder, environment))
        command.start()
        for stream in streams:
            os.close(stream)
        marshal.dump(command.pid, file)
        file.flush()
        command.join()
        marshal.dump(command.exitcode, file)


def _run(
    connection: socket.socket, streams: list[int], arguments: list[str], folder: str, environment: dict[str, str]
) -> None:
    connection.close()
    become(Path(folder), environment, streams)
    for stream in streams:
        os.close(stream)
    # Tests that run in the background ignore some signals, and what is forked of them does too.
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    run_ragq(arguments)
