"""Jobs and their stages: by number, and those of a run by urgency or in order."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from schemas.errors import JobMissingError
from schemas.statuses import JobStatus, StageStatus, WaitReason
from schemas.values.base import Value
from schemas.values.runs import StageFailure
from store.database import Connection
from store.runs.failures import last_failures

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

OPEN_JOBS: Final = "('waiting', 'running', 'interrupted')"

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


OF_JOBS = """
SELECT s.job_id, s.stage, s.status, s.attempts,
       extract(epoch FROM coalesce(s.finished_at, now()) - s.started_at)::float8 AS seconds,
       CASE WHEN s.status = 'ready' AND s.not_before > now() THEN s.not_before END AS waits_until,
       CASE WHEN s.status = 'ready' AND s.not_before > now() THEN w.server END AS server, w.reason
FROM stage_run AS s
LEFT JOIN llm_wait AS w ON w.job_id = s.job_id AND w.stage = s.stage AND w.until = s.not_before
WHERE s.job_id = ANY($1::bigint[]) ORDER BY s.job_id, s.position
"""


_WORDS = {
    WaitReason.CALLS: "other calls to {}, of which RAGQ_LLM_CONCURRENCY permits no more at a time",
    WaitReason.REQUESTS: "other calls to {}, of which RAGQ_LLM_RPM permits no more a minute",
    WaitReason.TOKENS: "other calls to {}, whose tokens are all that RAGQ_LLM_TPM permits a minute",
    WaitReason.REFUSED: "a refusal of {}, which takes no call until then (429 or 503)",
    WaitReason.BATCH: "{}, which answers with a batch; the answer makes it due before",
}

_RETRY = "a transport error, for its automatic retry"


class StageRun(Value):
    """One stage of a job."""

    stage: str
    status: StageStatus
    attempts: int
    seconds: float | None
    """Of the last attempt, up to now while it runs; None before the first."""
    waits_until: datetime | None = None
    """A stage that is due does not start before; None when it may."""
    waits_for: str | None = None
    """After what it waits until then."""


async def of_jobs(connection: Connection, job_ids: Sequence[int]) -> dict[int, list[StageRun]]:
    """The stages of each of these jobs, by its id, in the order of the chain."""
    found: dict[int, list[StageRun]] = {job_id: [] for job_id in job_ids}
    for row in await connection.fetch(OF_JOBS, list(job_ids)):
        values = dict(row)
        server, reason = values.pop("server"), values.pop("reason")
        if values["waits_until"] is not None:
            values["waits_for"] = _RETRY if server is None else _WORDS[reason].format(server)
        found[values.pop("job_id")].append(StageRun(**values))
    return found


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
    stages = await of_jobs(connection, job_ids)
    failures = await last_failures(connection, job_ids=job_ids)
    return {job_id: JobProgress(stages=of, error=failures.get(job_id)) for job_id, of in stages.items()}


# The triggers notify nothing meanwhile; the notification of the run stands for all of its jobs.
BEGIN = "SELECT set_config('ragq.bulk', 'on', true)"

END = """
SELECT set_config('ragq.bulk', 'off', true),
       (SELECT pg_notify('ragq_changes', json_build_object('run', $1::bigint, 'job', NULL)::text)
        WHERE EXISTS (SELECT FROM change_listener WHERE listened_at > now() - interval '30 seconds'))
"""

BATCH: Final = 10_000
"""Jobs in one statement, and in memory at a time."""


@asynccontextmanager
async def bulk(connection: Connection, run_id: int) -> AsyncIterator[None]:
    """Change many jobs of a run in the transaction that is open, with one notification for all of them."""
    await connection.execute(BEGIN)
    yield
    await connection.execute(END, run_id)
