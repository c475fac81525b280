"""The progress of a long submission or import on stderr: what is written so far, and the time to go."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cli.output import notices


@contextmanager
def writing_progress(things: str, *, shows: bool) -> Iterator[Callable[[int, int], None]]:
    """A function that takes how many things are written, of how many; a terminal shows them, and forgets them at the
    end of the block."""
    screen = notices()
    columns = (TextColumn(f"{things} written"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True, disable=not (shows and screen.is_terminal)) as progress:
        task = progress.add_task(things, total=None)
        yield lambda written, total: progress.update(task, completed=written, total=total)
