"""Runs whose results another program computed."""

from typing import Final

from store.database import Connection

IMPORTED: Final = "imported"
"""In the place of a worker's id, of a profile, and of the source of a setting."""

#: The run that a target is, or belongs to, when its results were imported.
OF_TARGET = """
SELECT r.id FROM run AS r
WHERE r.request ? 'imported' AND r.id = coalesce($2, (SELECT run_id FROM job WHERE id = $1))
"""


async def imported_run(connection: Connection, *, job_id: int | None, run_id: int | None) -> int | None:
    """The run of a target, if its results were imported."""
    found: int | None = await connection.fetchval(OF_TARGET, job_id, run_id)
    return found
