"""The progress of a run where no terminal redraws it."""

import io

from rich.console import Console

from cli.progress_lines import ProgressLines
from store.runs.stage_times import Progress


def printed(*seen: tuple[float, int, float | None]) -> list[str]:
    """What is printed when the run is looked at so many seconds after its start, with so many of 40 stages done."""
    screen = Console(file=io.StringIO(), width=80)
    lines = ProgressLines(screen, 12)
    for elapsed_s, done, seconds_left in seen:
        lines.show(Progress(done, 40, seconds_left), elapsed_s)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue().splitlines()


def test_a_tenth_more_is_a_line_with_the_time_to_go() -> None:
    assert printed((6, 5, None), (12, 7, 60.0), (18, 8, 50.0)) == [
        "r12: 5 of 40 stages, 0:00:06",
        "r12: 8 of 40 stages, 0:00:18, about 0:00:50 to go",
    ]


def test_fast_runs_print_a_line_in_five_seconds() -> None:
    assert printed((1, 10, 3.0), (2, 20, 2.0), (5.5, 30, 1.0), (6, 39, 0.5)) == [
        "r12: 30 of 40 stages, 0:00:06, about 0:00:01 to go"
    ]


def test_slow_runs_print_a_line_in_thirty_seconds() -> None:
    assert printed(*((second, 0, None) for second in range(65))) == [
        "r12: 0 of 40 stages, 0:00:30",
        "r12: 0 of 40 stages, 0:01:00",
    ]
