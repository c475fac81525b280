"""Runs as commands read them for their reports."""

from typing import Any, TypeAlias

from schemas.errors import RunMissingError
from store.database import Connection
from store.questions.query_runs import query_run
from store.runs import overviews
from store.runs.scored_rows import scored_rows

StoredRun: TypeAlias = Any
"""What `stored_run` reads, or what a command reads instead."""


async def stored_run(connection: Connection, run_id: int, *, kind: str | None = None) -> StoredRun:
    """A run of participants or queries, read without what its statistics need. `kind` is its kind, where it is known.

    Raises RunMissingError, and Refused when nothing can be reported.
    """
    if (kind or (await overviews.get(connection, run_id)).kind) == "query":
        found: StoredRun = await query_run(connection, run_id)
    else:
        found = await scored_rows(connection, run_id)
    if found is None:
        raise RunMissingError(run_id)
    return found
