"""Which of the threads that faulthandler wrote is named as the one that hangs."""

import textwrap
from pathlib import Path

import pytest

from workers.stack_traces import where_it_hangs

ROOT = Path("/r")

HEARTBEAT = """
    Thread 0x1 (most recent call first):
      File "/r/.venv/lib/site-packages/asyncpg/connection.py", line 364 in execute
      File "/r/store/runs/stages.py", line 371 in renew
      File "/r/workers/leases.py", line 60 in _beat
"""
COMPUTES = """
    Thread 0x2 (most recent call first):
      File "/usr/lib/python3.11/re/__init__.py", line 166 in match
      File "/r/stages/texts/cut.py", line 7 in cut
      File "/r/workers/runner.py", line 90 in run
"""
RUNS_A_STAGE = """
    Thread 0x3 (most recent call first):
      File "/r/stages/texts/tables.py", line 9 in read
      File "/r/workers/bindings/corpora.py", line 20 in cut
"""
WAITS = """
    Thread 0x4 (most recent call first):
      File "/usr/lib/python3.11/selectors.py", line 468 in select
      File "/r/workers/bindings/corpora.py", line 20 in cut
"""


@pytest.mark.parametrize(
    ("threads", "place"),
    [
        ([HEARTBEAT, COMPUTES], "stages/texts/cut.py:7"),
        ([COMPUTES, HEARTBEAT], "stages/texts/cut.py:7"),
        ([HEARTBEAT, COMPUTES, RUNS_A_STAGE, WAITS], "stages/texts/tables.py:9"),
        ([HEARTBEAT, WAITS], "store/runs/stages.py:371"),
        ([WAITS], None),
    ],
)
def test_the_thread_of_a_stage_is_named_before_those_beside_it(threads: list[str], place: str | None) -> None:
    dump = "".join(textwrap.dedent(thread).lstrip() for thread in threads)

    assert where_it_hangs(dump, ROOT) == place
