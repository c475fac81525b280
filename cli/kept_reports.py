"""Reports that are printed again while everything is the same that they were computed from."""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias, cast

import click
from click.core import ParameterSource

from cli.code_digest import code_digest
from cli.output import draw, echo_drawn, screen
from schemas.errors import RunMissingError
from store.database import Connection
from store.digested import DigestedConnection
from store.runs import kept_reports, overviews
from store.runs.scored_rows import scored_rows

StoredRun: TypeAlias = Any
"""What `stored_run` reads, or what a command reads instead."""

recompute_option = click.option(
    "--recompute", is_flag=True, help="Compute it anew, even where it is kept and nothing has changed."
)


async def stored_run(connection: Connection, run_id: int, *, kind: str | None = None) -> StoredRun:
    """A run of participants or queries, read without what its statistics need. `kind` is its kind, where it is known.

    Raises RunMissingError, and Refused when nothing can be reported.
    """
    if (kind or (await overviews.get(connection, run_id)).kind) == "query":
        from store.questions.query_runs import query_run

        found: StoredRun = await query_run(connection, run_id)
    else:
        found = await scored_rows(connection, run_id)
    if found is None:
        raise RunMissingError(run_id)
    return found


class Composed(NamedTuple):
    """What is printed of a run."""

    words: str
    kept_since: datetime | None = None
    """None where it was computed now."""

    def print(self) -> None:
        """Print it; that it was kept, with the time, on stderr."""
        echo_drawn(self.words)
        self.tell_age()

    def tell_age(self) -> None:
        """Print on stderr since when it is kept, if it is."""
        if self.kept_since is not None:
            draw(f"Kept since {self.kept_since:%Y-%m-%d %H:%M} UTC: nothing that it depends on has changed.", err=True)


async def kept_or_composed(
    connection: Connection,
    run_ids: Sequence[int],
    compose: Callable[[Sequence[StoredRun]], str],
    *,
    read: Callable[[Connection, int], Awaitable[StoredRun]] = stored_run,
    beside: object = None,
    recompute: bool,
) -> Composed:
    """What `compose` makes of one run or more, or what it made before of the same rows, options and code.

    `beside` is what it depends on besides them.
    """
    digested = DigestedConnection(connection)
    runs = [await read(cast(Connection, digested), run_id) for run_id in run_ids]
    key = hashlib.sha256(digested.digest() + repr((_asked(), beside, screen(), code_digest())).encode()).digest()
    kept = None if recompute else await kept_reports.find(connection, key)
    if kept is not None:
        return Composed(*kept)
    words = compose(runs)
    if screen() is not None:
        await kept_reports.keep(connection, key, words, run_ids)
    return Composed(words)


def _asked() -> object:
    """The command with its options, and which of them were typed: some refuse a default that is typed."""
    context = click.get_current_context()
    given = [name for name in context.params if context.get_parameter_source(name) is not ParameterSource.DEFAULT]
    options = {name: value for name, value in context.params.items() if name != "recompute"}
    return context.command.name, sorted(options.items()), sorted(set(given) - {"recompute"})
