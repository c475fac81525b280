"""The progress of a long submission or import on stderr: what is written so far, and the time to go."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live

from cli.output import Text, Trimmed, notices
from stages.reports.numbers_in_words import duration

#: What is written sooner needs no progress.
_QUIET_S = 1.0
#: So many take a while before the first is written.
_MANY = 100_000
#: Where no terminal redraws it, at most one line in this time.
_LINE_EVERY_S = 5.0


class WritingProgress:
    """Shows how many of the things are written: one line in a terminal, else a line now and then."""

    def __init__(self, screen: Console, live: Live, things: str) -> None:
        self._screen = screen
        self._live = live
        self._things = things
        self._began = self._shown = time.monotonic()

    def __call__(self, written: int, total: int) -> None:
        """So many are written now, of so many. With 0 another batch of things begins."""
        now = time.monotonic()
        if not written:
            self._began = now
            if total >= _MANY:
                self._show(f"Preparing {total:,} {self._things}.", now)
        elif now - self._began >= _QUIET_S:
            self._show(progress_words(written, total, now - self._began, things=self._things), now)

    def _show(self, words: str, now: float) -> None:
        if self._screen.is_terminal:
            self._live.update(Trimmed(Text(words, style="bold")), refresh=True)
        elif now - self._shown >= _LINE_EVERY_S:
            self._shown = now
            self._screen.print(words, highlight=False)


def progress_words(written: int, total: int, elapsed_s: float, *, things: str) -> str:
    """What is written of how much, the time so far, and the time to go at the same pace.

    >>> progress_words(250_000, 1_000_000, 20.0, things="jobs")
    '250,000 of 1,000,000 jobs written, 0:00:20, about 0:01:00 to go'
    """
    to_go = elapsed_s * (total - written) / written
    return f"{written:,} of {total:,} {things} written, {duration(elapsed_s)}, about {duration(to_go)} to go"


@contextmanager
def writing_progress(things: str, *, shows: bool) -> Iterator[WritingProgress]:
    """The progress of a block, which a terminal forgets after it. Without `shows` nothing is printed."""
    screen = notices() if shows else Console(quiet=True, force_terminal=False)
    with Live(console=screen, auto_refresh=False, transient=True) as live:
        yield WritingProgress(screen, live, things)
