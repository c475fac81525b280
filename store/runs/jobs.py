"""Jobs and their stages: by number, urgency or order; paused, cancelled, resumed, retried; and what is left to do."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

from pydantic import Field

from schemas.errors import MissingError
from schemas.statuses import JobStatus, StageStatus, WaitReason
from schemas.values.base import Value
from schemas.values.runs import StageFailure, Target
from store import rows
from store.database import Connection, bulk_seconds
from store.runs.failures import last_failures

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


class Job(Value):
    """One subject of a run, and what its stages start from."""

    id: int
    run_id: int
    kind: str
    mode: str
    subject: str
    inputs: dict[str, Any] = Field(repr=False)
    status: JobStatus
    created_at: datetime
    finished_at: datetime | None
    note: str | None
    parent_id: int | None
    """The job that it was forked from; None when it is none, or that one is deleted."""


async def job(connection: Connection, job_id: int) -> Job | None:
    """A job; None when there is none of that number."""
    return await rows.get(connection, Job, "job", id=job_id)


async def get(connection: Connection, job_id: int) -> Job:
    """A job. Raises MissingError."""
    found = await job(connection, job_id)
    if found is None:
        why = f"Job j{job_id} does not exist. `ragq runs` lists the runs, `ragq show RUN` their jobs."
        raise MissingError(why, slug="job-missing")
    return found


async def of_run(connection: Connection, run_id: int) -> list[int]:
    """The numbers of all jobs of a run, in the order of submission."""
    return await rows.values(connection, "job", "id", order="id", run_id=run_id)


async def most_urgent(
    connection: Connection, run_id: int, *, status: JobStatus | None = None, limit: int, offset: int = 0
) -> list[int]:
    """Jobs of a run (in one state) by the order of the states, then in the order of submission."""
    states = JobStatus if status is None else (status,)
    return [row["id"] for row in await connection.fetch(URGENT, run_id, list(states), limit, offset)]


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


# The jobs to change are found first, by their states, and changed in batches, each in a transaction of its own unless
# there is one already: a worker that ends a stage waits for a batch, not for a million jobs. A job that changed
# meanwhile is left as it is.

# Everything is chosen by key: the table of stages has millions of rows.
CONTINUE = """
WITH continued AS (
    UPDATE job SET status = 'waiting', note = NULL, finished_at = NULL
    WHERE id = ANY($1::bigint[]) AND status = ANY($2::text[])
    RETURNING id
), due AS (
    UPDATE stage_run AS s
    SET status = 'ready', enq_at = now(), enq_n = 0, interruptions = 0, retries = 0,
        not_before = CASE s.status WHEN 'ready' THEN s.not_before END
    FROM continued WHERE s.job_id = continued.id AND s.status IN ('failed', 'ready')
)
SELECT id FROM continued
"""

# Two reapers choose the same job, and the second finds its stage no longer done.
REPEAT = """
WITH ready AS (
    UPDATE stage_run
    SET status = 'ready', interruptions = 0, retries = 0, enq_at = NULL, enq_n = 0, not_before = NULL,
        finished_at = NULL
    WHERE job_id = ANY($1::bigint[]) AND stage = $2 AND status = 'done'
    RETURNING job_id
)
UPDATE job SET status = 'waiting', finished_at = NULL
FROM ready WHERE job.id = ready.job_id AND job.status = 'succeeded'
RETURNING job.id
"""

HOLD = """
UPDATE job
SET status = $3::text, note = $4, finished_at = CASE WHEN $3::text = 'cancelled' THEN now() END
WHERE id = ANY($1::bigint[]) AND status = ANY($2::text[])
RETURNING id
"""

# Locked, so that nobody deletes the run meanwhile; those that somebody else changes are seen the next time.
ENDED_WAITS = """
SELECT w.id AS run_id, w.after_id,
       EXISTS (SELECT FROM run WHERE id = w.after_id)
           AND NOT EXISTS (SELECT FROM job WHERE run_id = w.after_id AND status <> 'succeeded') AS has_succeeded
FROM run AS w
WHERE w.after_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM job WHERE run_id = w.after_id AND status IN ('waiting', 'running', 'interrupted', 'paused')
)
ORDER BY w.id FOR NO KEY UPDATE SKIP LOCKED
"""

_ENDED_BADLY: Final = (JobStatus.FAILED, JobStatus.POISONED)
_OPEN: Final = (JobStatus.WAITING, JobStatus.RUNNING, JobStatus.INTERRUPTED)


async def retry(connection: Connection, *, job_id: int | None = None, run_id: int | None = None) -> list[int]:
    """Make the failed stages of failed and poisoned jobs ready again; earlier outputs stay. Returns those jobs."""
    return await _change(connection, CONTINUE, Target(run_id, job_id), _ENDED_BADLY)


async def hold(
    connection: Connection, status: JobStatus, note: str | None, *, job_id: int | None = None, run_id: int | None = None
) -> list[int]:
    """Pause or cancel every open job of a run, or one job. Returns those jobs."""
    states = (*_OPEN, JobStatus.PAUSED) if status is JobStatus.CANCELLED else _OPEN
    return await _change(connection, HOLD, Target(run_id, job_id), states, status, note)


async def resume(connection: Connection, *, job_id: int | None = None, run_id: int | None = None) -> list[int]:
    """Resume paused jobs. Returns those jobs."""
    return await _change(connection, CONTINUE, Target(run_id, job_id), (JobStatus.PAUSED,))


async def repeat(connection: Connection, job_ids: Sequence[int], last_stage: str) -> list[int]:
    """Make jobs that have succeeded repeat their last stage. Returns those that do."""
    return [row["id"] for row in await connection.fetch(REPEAT, list(job_ids), last_stage)]


async def wait_for(connection: Connection, run_id: int, after_id: int) -> None:
    """Pause the jobs of a new run until another one has succeeded."""
    await rows.update(connection, "run", {"id": run_id}, after_id=after_id)
    await hold(connection, JobStatus.PAUSED, f"Waits until r{after_id} has succeeded.", run_id=run_id)


async def is_waiting(connection: Connection, run_id: int) -> bool:
    """Whether a run waits for another one."""
    return await rows.value(connection, "run", "after_id", id=run_id) is not None


async def end_waits(connection: Connection) -> list[tuple[int, int, bool]]:
    """Resume the paused jobs of runs whose predecessor has succeeded; cancel those of runs whose predecessor has not.
    Returns these runs, each with its predecessor and whether that has succeeded. A predecessor has ended when none of
    its jobs is open or paused."""
    async with connection.transaction():
        ended = [tuple(row) for row in await connection.fetch(ENDED_WAITS)]
        for run_id, after_id, has_succeeded in ended:
            if has_succeeded:
                await resume(connection, run_id=run_id)
            else:
                note = f"r{after_id}, which it waited for, did not succeed."
                of, paused = Target(run_id, None), (JobStatus.PAUSED,)
                await _change(connection, HOLD, of, paused, JobStatus.CANCELLED, note)
            await rows.update(connection, "run", {"id": run_id}, after_id=None)
    return ended


async def _change(
    connection: Connection, statement: str, target: Target, states: Sequence[JobStatus], *values: object
) -> list[int]:
    """Carry a statement out for the jobs of a target that are in one of these states. Those that it changed."""
    if target.run_id is None:
        return [row["id"] for row in await connection.fetch(statement, [target.job_id], list(states), *values)]
    job_ids = sorted(await rows.values(connection, "job", "id", run_id=target.run_id, status=list(states)))
    changed: list[int] = []
    for start in range(0, len(job_ids), BATCH):
        batch = job_ids[start : start + BATCH]
        async with connection.transaction(), bulk(connection, target.run_id):
            found = await connection.fetch(statement, batch, list(states), *values, timeout=bulk_seconds(len(batch)))
        changed += sorted(row["id"] for row in found)
    return changed


# Jobs come in ascending order, and stages by their key: nothing is compared with the whole list.
NEXT_STAGES = """
SELECT j.id AS job_id, j.run_id, j.kind, j.subject, s.stage, coalesce(s.queue, s.stage) AS queue, s.attempts,
       CASE WHEN s.not_before > now() THEN s.not_before END AS not_before, s.status = 'ready' AS is_ready
FROM unnest($1::bigint[]) AS n (job_id)
JOIN job AS j ON j.id = n.job_id JOIN stage_run AS s ON s.job_id = j.id
WHERE s.status IN ('ready', 'waiting')
ORDER BY j.id, s.position
"""


class PendingStage(NamedTuple):
    """A stage that a message has to be sent for, with the number its next attempt will have."""

    stage: str
    attempt: int
    queue: str


@dataclass(frozen=True, kw_only=True)
class PendingChain:
    """The stages of a job that are not done, first one first: what a chain is built from."""

    job_id: int
    run_id: int
    kind: str
    subject: str
    stages: list[PendingStage]
    is_ready: bool = field(default=True, compare=False)
    """Its first stage is due; otherwise a worker has the one before."""
    not_before: datetime | None = field(default=None, compare=False)
    """A time ahead until which its first stage waits."""

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues that it leads through."""
        return tuple(stage.queue for stage in self.stages)


async def pending_chains(connection: Connection, job_ids: Sequence[int]) -> list[PendingChain]:
    """What is left to do for each job, in the order asked; jobs with nothing left are absent."""
    found: dict[int, PendingChain] = {}
    for row in await connection.fetch(NEXT_STAGES, sorted(set(job_ids))):
        chain = found.get(row["job_id"])
        if chain is None:
            of_job = {name: row[name] for name in ("job_id", "run_id", "kind", "subject", "is_ready", "not_before")}
            chain = found[row["job_id"]] = PendingChain(**of_job, stages=[])
        chain.stages.append(PendingStage(row["stage"], row["attempts"] + 1, row["queue"]))
    return [found[job_id] for job_id in dict.fromkeys(job_ids) if job_id in found]
