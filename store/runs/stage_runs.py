"""The stages of jobs, with their present status."""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.statuses import StageStatus
from store.database import Connection

OF_JOBS = """
SELECT job_id, stage, status, attempts,
       extract(epoch FROM coalesce(finished_at, now()) - started_at)::float8 AS seconds
FROM stage_run WHERE job_id = ANY($1::bigint[]) ORDER BY job_id, position
"""


@dataclass(frozen=True, kw_only=True)
class StageRun:
    """One stage of a job."""

    stage: str
    status: StageStatus
    attempts: int
    seconds: float | None
    """Of the last attempt, up to now while it runs; None before the first."""


async def of_jobs(connection: Connection, job_ids: Sequence[int]) -> dict[int, list[StageRun]]:
    """The stages of each of these jobs, by its id, in the order of the chain."""
    found: dict[int, list[StageRun]] = {job_id: [] for job_id in job_ids}
    for row in await connection.fetch(OF_JOBS, list(job_ids)):
        values = {**row, "status": StageStatus(row["status"])}
        found[values.pop("job_id")].append(StageRun(**values))
    return found
