"""A stored stage computed again in the same job, with those after it."""

from typing import NamedTuple

from schemas.errors import Refused
from store.database import Database
from store.runs import edits, jobs


class Redone(NamedTuple):
    """What continues."""

    job_id: int
    stage: str


async def redo(database: Database, job_id: int, stage: str) -> Redone:
    """Compute a stage of a job and those after it again, with the settings of the run.

    What was stored stays in its history. Raises JobMissingError, StageRunningError, and Refused for a job that builds
    an index, and for a stage that the job does not have or that is not reached yet.
    """
    async with database.connection() as connection:
        job = await jobs.get(connection, job_id)
        if job.kind == "index":
            raise Refused(
                f"Job j{job_id} builds a part of an index, which is published as a whole; `ragq index` builds another.",
                slug="fork-refused",
            )
        await edits.redo(connection, job_id, stage)
    return Redone(job_id, stage)
