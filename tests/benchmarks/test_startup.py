"""Start-up is measured in processor time of the process alone."""

import sys

from benchmarks.startup import compared, cpu_ms_of


def test_a_command_is_compared_with_bare_python() -> None:
    start = compared("ragq --help", 60.0, 10.0)

    assert (start.over_bare_ms, start.ratio) == (50.0, 6.0)


def test_processor_time_counts_and_waiting_does_not() -> None:
    waiting = cpu_ms_of((sys.executable, "-c", "import time; time.sleep(0.5)"))
    working = cpu_ms_of((sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: pass"))

    assert waiting < 500 <= working
