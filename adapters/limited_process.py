"""A program that reads a foreign file: in a process of its own, with limits of time, memory and output.

The process limits itself before it starts the program: `python -m adapters.limited_process BYTES SECONDS PROGRAM ...`.
"""

import asyncio
import os
import re
import resource
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from schemas.errors import DocumentError

_OUTPUT_CHUNK: Final = 1 << 20
_SHOWN: Final = 300
_PAGE: Final = re.compile(rb"^page (\d{1,9})$", re.MULTILINE)


class ProcessLimits(NamedTuple):
    """Limits of one call."""

    seconds: float
    memory_mb: int
    output_mb: int


async def run_limited(program: Sequence[str], content: bytes, limits: ProcessLimits) -> bytes:
    """What a program writes for a content on its stdin.

    The program has an empty environment but for the path of Python's packages, writes no file, and is killed with every
    process that it started when it exceeds a limit and when this task is cancelled. Raises DocumentError for a limit
    and for an error of the program, with the page where it wrote the numbers of pages to stderr.
    """
    seconds = max(1, round(limits.seconds))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "adapters.limited_process",
        str(limits.memory_mb * 1_000_000),
        str(seconds),
        *program,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "LANG": "C.UTF-8",
            "HOME": "/nonexistent",
        },
        start_new_session=True,
    )
    heard = bytearray()
    try:
        async with asyncio.timeout(limits.seconds):
            _, written, _ = await asyncio.gather(
                _write(process, content), _read(process, limits.output_mb), _read_stderr(process, heard)
            )
            code = await process.wait()
    except TimeoutError:
        raise takes_too_much(f"more than {limits.seconds:.0f} s", heard) from None
    finally:
        if process.returncode is None:
            _kill(process)
            # Pipes are read to their end: of one that is full and not read, asyncio never sees the end of the process.
            await process.communicate()
    if written is None:
        raise takes_too_much(f"more than {limits.output_mb} MB as text")
    if code:
        said = heard[-_SHOWN:]
        if b"heap exhausted" in said.lower() or b"MemoryError" in said or code in (-9, 251):
            raise takes_too_much(f"more than {limits.memory_mb} MB of memory", heard)
        problem = f"it cannot be read; is the file damaged? (the reader ended with {code})"
        raise DocumentError(problem, page=_page_in(heard))
    return written


async def _write(process: asyncio.subprocess.Process, content: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(content)
        await process.stdin.drain()
        process.stdin.close()
    except ConnectionError:
        # It ended without reading to the end: its exit code says why.
        return


def _kill(process: asyncio.subprocess.Process) -> None:
    """End it with every process that it started, all of which have its session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


async def _read(process: asyncio.subprocess.Process, most_mb: int) -> bytes | None:
    """What it writes; None where it was killed because it wrote more."""
    assert process.stdout is not None
    parts: list[bytes] = []
    left = most_mb * 1_000_000
    while part := await process.stdout.read(_OUTPUT_CHUNK):
        left -= len(part)
        if left >= 0:
            parts.append(part)
        else:
            _kill(process)
    return None if left < 0 else b"".join(parts)


async def _read_stderr(process: asyncio.subprocess.Process, heard: bytearray) -> None:
    assert process.stderr is not None
    while part := await process.stderr.read(_OUTPUT_CHUNK):
        heard += part
        del heard[: -10 * _SHOWN]


def takes_too_much(what: str, heard: bytes | bytearray = b"") -> DocumentError:
    """The error of a limit in words; `heard` is the end of what the program wrote to stderr."""
    return DocumentError(f"it takes {what}; split it, or raise the limits of documents", page=_page_in(heard))


def _page_in(heard: bytes | bytearray) -> int | None:
    pages = _PAGE.findall(heard[-_SHOWN:])
    return int(pages[-1]) if pages else None


def main() -> None:
    """Limit this process, then become the program."""
    memory, seconds, *program = sys.argv[1:]
    # pandoc reserves a terabyte of addresses, which are no memory: its own option limits it.
    if not program[0].endswith("pandoc"):
        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    # Who waits for it ends it first: this limit is for a process that nobody waits for any more.
    of_all_cores = int(seconds) * len(os.sched_getaffinity(0))
    resource.setrlimit(resource.RLIMIT_CPU, (of_all_cores, of_all_cores + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.execv(program[0], program)


if __name__ == "__main__":
    main()
