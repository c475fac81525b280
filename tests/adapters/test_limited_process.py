"""Limits of programs that read foreign files."""

import asyncio
import sys

import pytest

from adapters.limited_process import ProcessLimits, run_limited
from schemas.errors import DocumentError

#: Two processes without an end, of which only the first is the one that was started.
WRITES = "import os, sys\nos.fork()\nwhile True: sys.stdout.write('x' * 65536)"
SLEEPS = "import os, time\nos.fork()\nwhile True: time.sleep(9)"


@pytest.mark.parametrize(
    ("program", "seconds", "problem"), [(WRITES, 30, "more than 1 MB as text"), (SLEEPS, 1, "more than 1 s")]
)
async def test_a_program_and_what_it_started_are_ended_at_a_limit(program: str, seconds: float, problem: str) -> None:
    with pytest.raises(DocumentError, match=f"it takes {problem}; split it"):
        async with asyncio.timeout(20):
            await run_limited([sys.executable, "-c", program], b"", ProcessLimits(seconds, memory_mb=500, output_mb=1))
