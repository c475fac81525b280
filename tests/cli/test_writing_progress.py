"""The progress of long submissions and imports on stderr."""

import io

import pytest
from rich.console import Console
from rich.live import Live

from cli import writing_progress
from cli.writing_progress import WritingProgress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that the progress sees; the last one counts."""
    seconds = [0.0]
    monkeypatch.setattr("cli.writing_progress.time.monotonic", lambda: seconds[-1])
    return seconds


def progress(*, is_terminal: bool) -> tuple[WritingProgress, io.StringIO]:
    printed = io.StringIO()
    screen = Console(file=printed, width=100, force_terminal=is_terminal)
    live = Live(console=screen, auto_refresh=False)
    live.start()
    return WritingProgress(screen, live, "jobs"), printed


def test_without_a_terminal_there_is_a_line_every_five_seconds(clock: list[float]) -> None:
    report, printed = progress(is_terminal=False)

    report(0, 100)
    for second in range(1, 12):
        clock.append(float(second))
        report(second * 5, 100)

    assert printed.getvalue().splitlines() == [
        "25 of 100 jobs written, 0:00:05, about 0:00:15 to go",
        "50 of 100 jobs written, 0:00:10, about 0:00:10 to go",
    ]


def test_json_has_no_progress(capsys: pytest.CaptureFixture[str], clock: list[float]) -> None:
    with writing_progress.writing_progress("jobs", shows=False) as report:
        report(0, 1_000_000)
        clock.append(60.0)
        report(500_000, 1_000_000)

    assert capsys.readouterr() == ("", "")
