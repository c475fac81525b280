"""Processes of ragq, forked from one that has imported everything already.

They run what a shell would start: the entry of `ragq` or of `celery`, with arguments, environment,
folder, session and output of its own. Only the time of importing is saved, once per process.
"""

import gc
import multiprocessing
import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import NamedTuple

from cli.main import COMMANDS

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        *dict.fromkeys(entry.module for entry in COMMANDS.values()),
        "celery.bin.celery",
        "celery.apps.worker",
        "celery.worker.components",
        "kombu.pidbox",
        "flower.command",
        "adapters.ollama",
        "sentence_transformers",
        "transformers.models.bert.modeling_bert",
        "workers.process",
        "workers.stage_pool",
        "api.app",
        __name__,
    ]
)
# The garbage collector of a forked process skips the objects of its parent, so that their pages are not copied.
os.register_at_fork(before=gc.freeze)


class Output(NamedTuple):
    """Where a process prints; both may be the same file."""

    stdout: Path
    stderr: Path


def fork(
    program: str, *arguments: str, environment: Mapping[str, str], folder: Path, output: Output
) -> ForkServerProcess:
    """Start `ragq ARGUMENTS`, or `python -m PROGRAM ARGUMENTS` for any other program."""
    process = FORKS.Process(target=_run, args=(program, arguments, dict(environment), folder, output))
    process.start()
    return process


def become(folder: Path, environment: Mapping[str, str], streams: Sequence[int]) -> None:
    """Begin a session with a folder, an environment and three streams, as a new process has them."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for descriptor, stream in enumerate(streams):
        os.dup2(stream, descriptor)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)


def run_ragq(arguments: Sequence[str]) -> None:
    """What the script `ragq` does."""
    from ragq.start import main

    sys.argv = ["ragq", *arguments]
    main()


def _run(program: str, arguments: tuple[str, ...], environment: dict[str, str], folder: Path, output: Output) -> None:
    printed = (os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for path in output)
    become(folder, environment, (os.open(os.devnull, os.O_RDONLY), *printed))
    if "LD_PRELOAD" in environment:
        # Libraries are loaded before others when a program starts.
        os.execve(sys.executable, [sys.executable, "-m", program, *arguments], environment)
    if program == "ragq":
        run_ragq(arguments)
    else:
        sys.argv = [program, *arguments]
        runpy.run_module(program, run_name="__main__", alter_sys=True)
