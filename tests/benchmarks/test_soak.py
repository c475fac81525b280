"""The slope of memory over time, and what counts as a process's own."""

import subprocess
import sys
from typing import Final

import pytest

from benchmarks.soak import Growth, Sample, growth, memory

#: Has 30 MB of its own and shares 50 MB with a child, which has read them too.
TWO_PROCESSES: Final = """
import mmap, os
own, shared = bytearray(os.urandom(30_000_000)), mmap.mmap(-1, 50_000_000)
shared.write(bytes(50_000_000))
if os.fork():
    print("ready", flush=True)
else:
    shared[:]
input()
"""


def test_growth_is_the_slope_after_the_warm_up() -> None:
    steep = [Sample(seconds, "flower", 100 + seconds / 360) for seconds in range(0, 3601, 600)]
    warming = [Sample(seconds, "api", 130.0 if seconds else 50.0) for seconds in range(0, 3601, 600)]

    flower, api = growth([*steep, *warming])

    assert flower._replace(mb_per_hour=round(flower.mb_per_hour, 6)) == Growth("flower", 100, 110, 110, 10.0, 0.0)
    assert api._replace(mb_per_hour=round(api.mb_per_hour, 6)) == Growth("api", 50, 130, 130, 0.0, 0.0)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_buffers_that_processes_share_are_not_their_own() -> None:
    with subprocess.Popen([sys.executable, "-c", TWO_PROCESSES], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as both:
        assert both.stdout is not None
        both.stdout.readline()
        own, shared = memory(both.pid)
        both.communicate(b"\n\n")

    assert 30 < own < 60
    assert shared == pytest.approx(50, abs=5)
