"""Runs: stored whole with their jobs and stages or not at all, and found again by identity."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any, NamedTuple

from schemas.values.chat import ModelIdentity
from schemas.values.environments import Environment
from store.database import Connection
from store.runs import environments, run_models
from store.runs.chain import content_hash

INSERT_RUN = """
INSERT INTO run (kind, identity, profile, settings, settings_hash, request, version, environment_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id
"""

FIND = """
SELECT max(id) FROM run WHERE identity = $1 AND coalesce((request ->> 'draw')::bigint, 0) = $2
"""

FROZEN = "SELECT settings, coalesce((request ->> 'draw')::bigint, 0) AS draw FROM run WHERE id = $1"

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
    version: str = field(default_factory=partial(version, "ragq"))
    """The release of ragq that it is submitted with."""
    models: Sequence[ModelIdentity] = ()
    """The language models that its stages are held to, as far as they are known at submission."""
    environment: Environment | None = None
    """Where it is submitted."""
    jobs: Sequence[NewJob]

    @property
    def draw(self) -> int:
        """The draw: the same work in another draw is another run, with answers of its own."""
        found: int = self.request.get("draw", 0)
        return found

    @property
    def identity(self) -> str:
        """The same work has the same identity: kind, settings by value, and the inputs of every job in order."""
        jobs = [[job.mode, job.subject, dict(job.inputs), list(job.stages)] for job in self.jobs]
        return content_hash({"kind": self.kind, "settings": self.settings_hash, "jobs": jobs})


class StoredRun(NamedTuple):
    """A run that was stored or found."""

    run_id: int
    is_new: bool
    job_ids: list[int]


async def store(connection: Connection, run: NewRun, *, always_new: bool = False) -> StoredRun:
    """Store a run with its jobs and their stages, or find the newest run of the same identity and draw.

    Two submissions of the same work at the same time wait for each other, so that one finds the other's run.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", run.identity)
        if not always_new:
            found = await find(connection, run)
            if found is not None:
                rows = await connection.fetch("SELECT id FROM job WHERE run_id = $1 ORDER BY ordinal", found)
                return StoredRun(found, False, [row["id"] for row in rows])
        run_id: int = await connection.fetchval(
            INSERT_RUN,
            run.kind,
            run.identity,
            run.profile,
            json.dumps(run.settings),
            run.settings_hash,
            json.dumps(run.request),
            run.version,
            None if run.environment is None else await environments.keep(connection, run.environment),
        )
        await run_models.freeze(connection, run_id, run.models, is_from_submission=True)
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
    return StoredRun(run_id, True, job_ids)


async def find(connection: Connection, run: NewRun) -> int | None:
    """The newest run that did the same work in the same draw; None when there is none."""
    found: int | None = await connection.fetchval(FIND, run.identity, run.draw)
    return found


async def exists(connection: Connection, *, job_id: int | None = None, run_id: int | None = None) -> bool:
    """Whether there is a job, or a run, of that number."""
    found: bool = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM job WHERE id = $1) OR EXISTS (SELECT FROM run WHERE id = $2)", job_id, run_id
    )
    return found


async def frozen(connection: Connection, run_id: int) -> tuple[dict[str, Any], int]:
    """The settings of a run as they were frozen, value and source by name, and its draw."""
    row = await connection.fetchrow(FROZEN, run_id)
    return row["settings"], row["draw"]


async def settings(connection: Connection, run_id: int) -> dict[str, Any]:
    """The settings of a run as they were frozen: value and source by name."""
    frozen: dict[str, Any] = await connection.fetchval("SELECT settings FROM run WHERE id = $1", run_id)
    return frozen
