"""The progress of a run where no terminal redraws it: a line from time to time."""

from rich.console import Console

from stages.reports.numbers_in_words import duration
from store.runs.stage_times import Progress

#: At most one line in this time.
_NOT_WITHIN_S = 5.0
#: Without news, a line that shows the run still goes on.
_AT_LEAST_EVERY_S = 30.0
_STEPS = 10


def progress_words(found: Progress, elapsed_s: float) -> str:
    """Stages that are done, the time so far, and the time to go where it can be estimated."""
    remaining = "" if found.seconds_left is None else f", about {duration(found.seconds_left)} to go"
    return f"{found.done} of {found.stages} stages, {duration(elapsed_s)}{remaining}"


class ProgressLines:
    """Prints a line at each tenth of a run's stages, not more often than every 5 and not less than every 30 seconds."""

    def __init__(self, screen: Console, run_id: int) -> None:
        self._screen = screen
        self._run_id = run_id
        self._printed_at_s = 0.0
        self._printed_tenth = 0

    def show(self, found: Progress, elapsed_s: float) -> None:
        """Print the progress if a line is due."""
        tenth = _STEPS * found.done // max(found.stages, 1)
        since_s = elapsed_s - self._printed_at_s
        if since_s >= _AT_LEAST_EVERY_S or (since_s >= _NOT_WITHIN_S and tenth > self._printed_tenth):
            self._printed_at_s, self._printed_tenth = elapsed_s, tenth
            self._screen.print(f"r{self._run_id}: {progress_words(found, elapsed_s)}", highlight=False)
