"""Runs and jobs: stored whole or not at all, found again by identity, counted, paused, cancelled, retried."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from schemas.statuses import JobStatus
from store.database import Connection
from store.runs.chain import content_hash

INSERT_RUN = """
INSERT INTO run (kind, identity, profile, settings, settings_hash, request, version)
VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id
"""

INSERT_JOBS = """
INSERT INTO job (run_id, ordinal, kind, mode, subject, inputs, status)
SELECT $1, j.ordinal - 1, $2, j.mode, j.subject, j.inputs, 'waiting'
FROM unnest($3::text[], $4::text[], $5::jsonb[]) WITH ORDINALITY AS j (mode, subject, inputs, ordinal)
RETURNING id, ordinal
"""

INSERT_STAGES = """
INSERT INTO stage_run
    (job_id, stage, position, status, fence, attempts, interruptions, retries, enq_n, enq_at)
SELECT s.job_id, s.stage, s.position, CASE WHEN s.position = 0 THEN 'ready' ELSE 'waiting' END, 0, 0, 0, 0, 0,
       CASE WHEN s.position = 0 THEN now() END
FROM unnest($1::bigint[], $2::text[], $3::integer[]) AS s (job_id, stage, position)
"""

OVERVIEW = """
SELECT r.id, r.kind, r.profile, r.identity, r.request, r.created_at, r.version, r.settings_hash,
       coalesce(j.jobs, 0) AS jobs, j.finished_at, coalesce(j.states, '{}') AS states
FROM run AS r
LEFT JOIN LATERAL (
    SELECT sum(c.jobs)::bigint AS jobs, max(c.finished_at) AS finished_at, jsonb_object_agg(c.status, c.jobs) AS states
    FROM (
        SELECT status, count(*) AS jobs, max(finished_at) AS finished_at FROM job WHERE run_id = r.id GROUP BY status
    ) AS c
) AS j ON true
WHERE ($1::bigint IS NULL OR r.id = $1) AND ($3::bigint IS NULL OR r.id < $3) AND ($4::text IS NULL OR r.kind = $4)
ORDER BY r.id DESC LIMIT $2
"""

RETRY = """
WITH again AS (
    UPDATE job SET status = 'waiting', finished_at = NULL
    WHERE status IN ('failed', 'poisoned') AND (id = $1 OR run_id = $2)
    RETURNING id
), ready AS (
    UPDATE stage_run AS s
    SET status = 'ready', interruptions = 0, retries = 0, enq_at = now(), enq_n = 0, not_before = NULL,
        finished_at = NULL
    FROM again WHERE s.job_id = again.id AND s.status = 'failed'
)
SELECT id FROM again ORDER BY id
"""

HOLD = """
UPDATE job
SET status = $3, note = $4, finished_at = CASE WHEN $3 = 'cancelled' THEN now() END
WHERE (id = $1 OR run_id = $2)
  AND (status IN ('waiting', 'running', 'interrupted') OR ($3 = 'cancelled' AND status = 'paused'))
RETURNING id
"""

RESUME = """
WITH resumed AS (
    UPDATE job SET status = 'waiting', note = NULL WHERE status = 'paused' AND (id = $1 OR run_id = $2) RETURNING id
), sent AS (
    UPDATE stage_run AS s SET enq_at = now(), enq_n = 0
    FROM resumed WHERE s.job_id = resumed.id AND s.status = 'ready'
)
SELECT id FROM resumed ORDER BY id
"""

NEXT_STAGES = """
SELECT j.id, j.run_id, j.subject, s.stage, s.attempts
FROM job AS j JOIN stage_run AS s ON s.job_id = j.id
WHERE j.id = ANY($1::bigint[]) AND s.status IN ('ready', 'waiting')
ORDER BY array_position($1::bigint[], j.id), s.position
"""

GRID = """
SELECT j.id, j.ordinal, j.mode, j.subject, j.status AS job_status, j.finished_at AS job_finished_at, j.note,
       s.stage, s.status, s.attempts, s.started_at, s.finished_at, s.not_before,
       extract(epoch FROM coalesce(s.finished_at, now()) - s.started_at)::float8 AS seconds
FROM job AS j JOIN stage_run AS s ON s.job_id = j.id
WHERE j.run_id = $1 AND ($2::bigint[] IS NULL OR j.id = ANY($2))
ORDER BY j.ordinal, s.position
"""

URGENT = """
SELECT id FROM job
WHERE run_id = $1 AND ($2::text IS NULL OR status = $2)
ORDER BY array_position($3::text[], status), ordinal LIMIT $4 OFFSET $5
"""

IN_ORDER = """
SELECT id FROM job
WHERE run_id = $1 AND ($2::text IS NULL OR status = $2)
  AND ($3::bigint IS NULL OR ordinal > (SELECT ordinal FROM job WHERE id = $3 AND run_id = $1))
ORDER BY ordinal LIMIT $4
"""

#: The states of jobs in the order in which they want to be looked at.
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


class Target(NamedTuple):
    """A run or a job: exactly one of the two is set."""

    run_id: int | None
    job_id: int | None

    def __str__(self) -> str:
        return f"r{self.run_id}" if self.job_id is None else f"j{self.job_id}"


@dataclass(frozen=True, kw_only=True)
class NewJob:
    """One job to store: what it is about, what its stages start from, and the stages in order."""

    mode: str
    subject: str
    inputs: Mapping[str, Any]
    stages: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class NewRun:
    """One submission to store."""

    kind: str
    profile: str
    settings: Mapping[str, Any]
    """The snapshot: every effective value and its source."""
    settings_hash: str
    request: Mapping[str, Any]
    version: str
    jobs: Sequence[NewJob]

    @property
    def identity(self) -> str:
        """The same work has the same identity: kind, settings by value, and the inputs of every job in order."""
        jobs = [[job.mode, job.subject, dict(job.inputs), list(job.stages)] for job in self.jobs]
        return content_hash({"kind": self.kind, "settings": self.settings_hash, "jobs": jobs})


class Stored(NamedTuple):
    """A run that was stored or found."""

    run_id: int
    is_new: bool
    job_ids: list[int]


@dataclass(frozen=True, kw_only=True)
class RunOverview:
    """A run in one line. The counts of `states` add up to `jobs`."""

    id: int
    kind: str
    profile: str
    identity: str
    request: dict[str, Any]
    version: str
    settings_hash: str
    created_at: datetime
    finished_at: datetime | None
    """When the last job that came to rest did so."""
    jobs: int
    states: dict[JobStatus, int]

    @property
    def open_jobs(self) -> int:
        """Jobs that go on, or will by themselves."""
        return sum(count for status, count in self.states.items() if status.is_open)


class PendingStage(NamedTuple):
    """A stage that a message has to be sent for, with the number its next attempt will have."""

    stage: str
    attempt: int


@dataclass(frozen=True, kw_only=True)
class PendingChain:
    """The stages of a job that are not done, first one first: what a chain is built from."""

    job_id: int
    run_id: int
    subject: str
    stages: list[PendingStage]


async def store(connection: Connection, run: NewRun, *, always_new: bool = False) -> Stored:
    """Store a run with its jobs and their stages, or find the newest run of the same identity.

    Two submissions of the same work at the same time wait for each other, so that one finds the other's run.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", run.identity)
        if not always_new:
            found = await find(connection, run)
            if found is not None:
                rows = await connection.fetch("SELECT id FROM job WHERE run_id = $1 ORDER BY ordinal", found)
                return Stored(found, False, [row["id"] for row in rows])
        run_id: int = await connection.fetchval(
            INSERT_RUN,
            run.kind,
            run.identity,
            run.profile,
            json.dumps(run.settings),
            run.settings_hash,
            json.dumps(run.request),
            run.version,
        )
        rows = await connection.fetch(
            INSERT_JOBS,
            run_id,
            run.kind,
            [job.mode for job in run.jobs],
            [job.subject for job in run.jobs],
            [json.dumps(job.inputs) for job in run.jobs],
        )
        job_ids = [row["id"] for row in sorted(rows, key=lambda row: int(row["ordinal"]))]
        stages = [
            (job_id, stage, position)
            for job_id, job in zip(job_ids, run.jobs, strict=True)
            for position, stage in enumerate(job.stages)
        ]
        await connection.execute(
            INSERT_STAGES,
            [job_id for job_id, _, _ in stages],
            [stage for _, stage, _ in stages],
            [position for _, _, position in stages],
        )
    return Stored(run_id, True, job_ids)


async def find(connection: Connection, run: NewRun) -> int | None:
    """The newest run that did the same work; None when there is none."""
    found: int | None = await connection.fetchval("SELECT max(id) FROM run WHERE identity = $1", run.identity)
    return found


async def overviews(
    connection: Connection,
    *,
    run_id: int | None = None,
    limit: int = 20,
    before: int | None = None,
    kind: str | None = None,
) -> list[RunOverview]:
    """The newest runs, newest first, of a kind and older than the run `before` where these are given; or one run."""
    return [_overview(row) for row in await connection.fetch(OVERVIEW, run_id, limit, before, kind)]


async def overview(connection: Connection, run_id: int) -> RunOverview | None:
    """One run; None when there is none of that number."""
    found = await overviews(connection, run_id=run_id, limit=1)
    return found[0] if found else None


async def settings(connection: Connection, run_id: int) -> dict[str, Any]:
    """The settings of a run as they were frozen: value and source by name."""
    frozen: dict[str, Any] = await connection.fetchval("SELECT settings FROM run WHERE id = $1", run_id)
    return frozen


async def grid(connection: Connection, run_id: int, *, job_ids: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """One row per job and stage, jobs in the order of submission, stages in the order of the chain.

    Of all jobs of a run, or of those that are named.
    """
    return [dict(row) for row in await connection.fetch(GRID, run_id, job_ids)]


async def most_urgent(
    connection: Connection, run_id: int, *, status: JobStatus | None = None, limit: int, offset: int = 0
) -> list[int]:
    """Jobs of a run (in one state) by the order of `URGENCY`, then in the order of submission."""
    rows = await connection.fetch(URGENT, run_id, status, list(URGENCY), limit, offset)
    return [row["id"] for row in rows]


async def in_order(
    connection: Connection, run_id: int, *, status: JobStatus | None = None, after: int | None = None, limit: int
) -> list[int]:
    """Jobs of a run (in one state) in the order of submission; with `after`, those behind that job."""
    return [row["id"] for row in await connection.fetch(IN_ORDER, run_id, status, after, limit)]


async def pending_chains(connection: Connection, job_ids: Sequence[int]) -> list[PendingChain]:
    """What is left to do for each job, in the order asked; jobs with nothing left are absent."""
    found: dict[int, PendingChain] = {}
    for row in await connection.fetch(NEXT_STAGES, list(job_ids)):
        chain = found.setdefault(
            row["id"], PendingChain(job_id=row["id"], run_id=row["run_id"], subject=row["subject"], stages=[])
        )
        chain.stages.append(PendingStage(row["stage"], row["attempts"] + 1))
    return list(found.values())


async def exists(connection: Connection, *, job_id: int | None = None, run_id: int | None = None) -> bool:
    """Whether there is a job, or a run, of that number."""
    found: bool = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM job WHERE id = $1) OR EXISTS (SELECT FROM run WHERE id = $2)", job_id, run_id
    )
    return found


async def job(connection: Connection, job_id: int) -> dict[str, Any] | None:
    """A job's row; None when there is none of that number."""
    row = await connection.fetchrow("SELECT * FROM job WHERE id = $1", job_id)
    return None if row is None else dict(row)


async def retry(connection: Connection, *, job_id: int | None = None, run_id: int | None = None) -> list[int]:
    """Make the failed stages of failed and poisoned jobs ready again; earlier outputs stay. The jobs that go on."""
    return [row["id"] for row in await connection.fetch(RETRY, job_id, run_id)]


async def hold(
    connection: Connection,
    status: JobStatus,
    note: str | None,
    *,
    job_id: int | None = None,
    run_id: int | None = None,
) -> list[int]:
    """Pause or cancel every open job of a run, or one job. The jobs that were held."""
    return [row["id"] for row in await connection.fetch(HOLD, job_id, run_id, status, note)]


async def resume(connection: Connection, *, job_id: int | None = None, run_id: int | None = None) -> list[int]:
    """Let paused jobs go on. The jobs that do."""
    return [row["id"] for row in await connection.fetch(RESUME, job_id, run_id)]


def _overview(row: Mapping[str, Any]) -> RunOverview:
    states = row["states"]
    return RunOverview(
        id=row["id"],
        kind=row["kind"],
        profile=row["profile"],
        identity=row["identity"],
        request=row["request"],
        version=row["version"],
        settings_hash=row["settings_hash"],
        created_at=row["created_at"],
        finished_at=row["finished_at"],
        jobs=row["jobs"],
        states={JobStatus(status): count for status, count in states.items()},
    )
