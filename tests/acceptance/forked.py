"""Processes of ragq, forked from one that has imported everything already.

They run what a shell would start: the entry of `ragq` or of `celery`, with arguments, environment,
folder, session and output of its own. Only the time of importing is saved, once per process.
"""

import gc
import multiprocessing
import os
import runpy
import sys
from collections.abc import Mapping
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import NamedTuple

from cli.main import COMMANDS

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        *dict.fromkeys(entry.module for entry in COMMANDS.values()),
        "celery.bin.worker",
        "flower.command",
        "adapters.ollama",
        "sentence_transformers",
        "transformers.models.bert.modeling_bert",
        "workers.process",
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
    process = _FORKS.Process(target=_run, args=(program, arguments, dict(environment), folder, output))
    process.start()
    return process


def _run(program: str, arguments: tuple[str, ...], environment: dict[str, str], folder: Path, output: Output) -> None:
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for path, descriptor in zip(output, (1, 2), strict=True):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
    if "LD_PRELOAD" in environment:
        # Libraries are loaded before others when a program starts.
        os.execve(sys.executable, [sys.executable, "-m", program, *arguments], environment)
    sys.argv = [program, *arguments]
    if program == "ragq":
        from cli.main import main

        main()
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
