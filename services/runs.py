"""Runs named, annotated, put before others and deleted, alike by commands, REST and pages."""

from typing import TypedDict

from schemas.errors import Refused, RunMissingError
from schemas.statuses import Priority
from schemas.values.run_names import LONGEST_NAME, LONGEST_NOTE, run_name
from store.database import Connection
from store.references import due_publications
from store.runs import deletions, run_names, shares, stored_runs
from store.runs.deletions import DeletedRun


class RunChanges(TypedDict, total=False):
    """What changes of a run; None removes a name or a note. What is absent stays as it is."""

    name: str | None
    note: str | None
    priority: Priority


async def change_run(connection: Connection, run_id: int, changes: RunChanges) -> None:
    """Change name, note and priority of a run, all that is named or nothing.

    Raises RunMissingError, and Refused for words that cannot be a name or note, and for a name that is taken.
    """
    async with connection.transaction():
        if not await stored_runs.exists(connection, run_id=run_id):
            raise RunMissingError(run_id)
        if "name" in changes:
            name = changes["name"]
            await run_names.rename(connection, run_id, None if name is None else checked_name(name))
        if "note" in changes:
            await run_names.annotate(connection, run_id, _note(changes["note"]))
        if "priority" in changes:
            await shares.set_priority(connection, run_id, changes["priority"])


async def delete_run(connection: Connection, run_id: int) -> DeletedRun:
    """Delete a run that is not active, with all that belongs to it alone. Its forks stay.

    Raises RunMissingError, and Refused while it works.
    """
    if await due_publications.is_publication_due(connection, run_id):
        raise deletions.still_active(run_id, "it is about to publish its index; delete it when it has finished.")
    return await deletions.delete_run(connection, run_id)


def checked_name(words: str) -> str:
    """The name of a run as it is stored. Raises Refused for words that cannot be one."""
    name = run_name(words)
    if name is None:
        raise Refused(
            f"The name of a run is one line of 1 to {LONGEST_NAME} characters; it does not begin with '-' and is not "
            "the number of a run or job.",
            slug="run-value-unusable",
        )
    return name


def _note(words: str | None) -> str | None:
    if words is None:
        return None
    note = words.strip()
    if not note or len(note) > LONGEST_NOTE or "\0" in note:
        raise Refused(f"The note of a run has 1 to {LONGEST_NOTE} characters.", slug="run-value-unusable")
    return note
