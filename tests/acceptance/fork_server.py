"""The process that `forked.py` asks: it has imported everything already, and forks what it is asked for."""

import gc
import importlib
import marshal
import multiprocessing
import os
import runpy
import selectors
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.context import ForkProcess
from typing import Final

from cli.main import COMMANDS
from tests.acceptance.forked import MARK, NUMBER, STREAMS

_PRELOADED: Final = (
    *dict.fromkeys(module for module, _, _ in COMMANDS.values()),
    *("celery.bin.celery", "celery.apps.worker", "celery.worker.components", "kombu.pidbox", "flower.command"),
    *("adapters.ollama", "sentence_transformers", "transformers.models.bert.modeling_bert"),
    *("workers.process", "api.app"),
)
_CHILDREN: Final = multiprocessing.get_context("fork")


def serve(address: str) -> None:
    """Fork what is asked for at a socket; tell each process's id at once, and its exit code when it has ended.

    The process that was started ends as soon as its copy listens.
    """
    with selectors.DefaultSelector() as selector, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        if os.fork():
            os._exit(0)
        os.setsid()
        selector.register(listening, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.data is None:
                    connection, _ = listening.accept()
                    process, ended = _started(connection)
                    selector.register(ended, selectors.EVENT_READ, (process, connection))
                else:
                    process, connection = key.data
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    process.join()
                    # Whoever asked may have ended before.
                    with connection, suppress(OSError):
                        connection.sendall(NUMBER.pack(process.exitcode))
                    process.close()


def _started(connection: socket.socket) -> tuple[ForkProcess, int]:
    """The process, and what can be read once it has ended: its sentinel could be when it executes another program."""
    _, streams, _, _ = socket.recv_fds(connection, len(MARK), STREAMS)
    with connection.makefile("rb") as file:
        asked = marshal.load(file)
    process = _CHILDREN.Process(target=_run, args=(streams, *asked))
    process.start()
    for stream in streams:
        os.close(stream)
    assert process.pid is not None
    connection.sendall(NUMBER.pack(process.pid))
    return process, os.pidfd_open(process.pid)


def _run(
    streams: Sequence[int], program: str, arguments: Sequence[str], folder: str, environment: Mapping[str, str]
) -> None:
    """Begin a session with a folder, an environment and three streams, as a new process has them, and run a program."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for descriptor, stream in enumerate(streams):
        os.dup2(stream, descriptor)
        os.close(stream)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    # Tests that run in the background ignore some signals, and what is forked of them does too.
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if "LD_PRELOAD" in environment:
        # Libraries are loaded before others when a program starts.
        os.execve(sys.executable, [sys.executable, "-m", program, *arguments], dict(environment))
    sys.argv = [program, *arguments]
    if program == "ragq":
        from ragq.start import main

        main()
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    for module in _PRELOADED:
        importlib.import_module(module)
    # The garbage collector of a forked process skips the objects of its parent, so that their pages are not copied.
    os.register_at_fork(before=gc.freeze)
    serve(sys.argv[1])
