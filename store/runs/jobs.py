"""Jobs: by number, and those of a run by urgency or in order."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from schemas.errors import JobMissingError
from schemas.statuses import JobStatus, StageStatus
from schemas.values.runs import StageFailure
from store.database import Connection
from store.runs import stage_vectors
from store.runs.failures import last_failures
from store.runs.stage_vectors import StageRun

JOB = "SELECT id, run_id, kind, mode, subject, inputs, status, created_at, finished_at, note FROM job WHERE id = $1"

# At most a page of each state is read, in the order of the index.
URGENT = """
SELECT j.id
FROM unnest($2::text[]) WITH ORDINALITY AS u (status, place)
CROSS JOIN LATERAL (
    SELECT id, ordinal FROM job WHERE run_id = $1 AND status = u.status ORDER BY ordinal LIMIT $3::bigint + $4::bigint
) AS j
ORDER BY u.place, j.ordinal LIMIT $3::bigint OFFSET $4::bigint
"""

IN_ORDER = """
SELECT id FROM job
WHERE run_id = $1 AND ($2::text IS NULL OR status = $2)
  AND ($3::bigint IS NULL OR ordinal > (SELECT ordinal FROM job WHERE id = $3 AND run_id = $1))
ORDER BY ordinal LIMIT $4
"""

#: The states of jobs, those that need attention first.
URGENCY = (
    JobStatus.FAILED,
    JobStatus.POISONED,
    JobStatus.INTERRUPTED,
    JobStatus.RUNNING,
    JobStatus.PAUSED,
    JobStatus.WAITING,
    JobStatus.CANCELLED,
    JobStatus.SUCCEEDED,
)


@dataclass(frozen=True, kw_only=True)
class Job:
    """One subject of a run, and what its stages start from."""

    id: int
    run_id: int
    kind: str
    mode: str
    subject: str
    inputs: dict[str, Any] = field(repr=False)
    status: JobStatus
    created_at: datetime
    finished_at: datetime | None
    note: str | None


async def job(connection: Connection, job_id: int) -> Job | None:
    """A job; None when there is none of that number."""
    row = await connection.fetchrow(JOB, job_id)
    return None if row is None else Job(**{**row, "status": JobStatus(row["status"])})


async def get(connection: Connection, job_id: int) -> Job:
    """A job. Raises JobMissingError."""
    found = await job(connection, job_id)
    if found is None:
        raise JobMissingError(job_id)
    return found


async def of_run(connection: Connection, run_id: int) -> list[int]:
    """The numbers of all jobs of a run, in the order of submission."""
    return [row["id"] for row in await connection.fetch("SELECT id FROM job WHERE run_id = $1 ORDER BY id", run_id)]


async def most_urgent(
    connection: Connection, run_id: int, *, status: JobStatus | None = None, limit: int, offset: int = 0
) -> list[int]:
    """Jobs of a run (in one state) by the order of `URGENCY`, then in the order of submission."""
    states = URGENCY if status is None else (status,)
    rows = await connection.fetch(URGENT, run_id, list(states), limit, offset)
    return [row["id"] for row in rows]


async def in_order(
    connection: Connection, run_id: int, *, status: JobStatus | None = None, after: int | None = None, limit: int
) -> list[int]:
    """Jobs of a run (in one state) in the order of submission; with `after`, those behind that job."""
    return [row["id"] for row in await connection.fetch(IN_ORDER, run_id, status, after, limit)]


@dataclass(frozen=True, kw_only=True)
class JobProgress:
    """The progress of a job."""

    stages: list[StageRun]
    error: StageFailure | None
    """The last error of a job that did not succeed."""

    @property
    def done(self) -> int:
        """Stages whose output is stored."""
        return sum(stage.status is StageStatus.DONE for stage in self.stages)

    @property
    def current(self) -> str | None:
        """The first stage that is not done; None when all are."""
        return next((stage.stage for stage in self.stages if stage.status is not StageStatus.DONE), None)

    def is_done(self, stage: str) -> bool:
        """Whether the output of a stage is stored; False for one that the chain does not have."""
        return any(view.stage == stage and view.status is StageStatus.DONE for view in self.stages)


async def progress(connection: Connection, job_ids: Sequence[int]) -> dict[int, JobProgress]:
    """The progress of each of these jobs, by id."""
    stages = await stage_vectors.of_jobs(connection, job_ids)
    failures = await last_failures(connection, job_ids=job_ids)
    return {job_id: JobProgress(stages=of, error=failures.get(job_id)) for job_id, of in stages.items()}


OPEN_JOBS: Final = "('waiting', 'running', 'interrupted')"
