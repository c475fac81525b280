"""Forks: runs whose jobs begin with copies of what the first stages of the jobs of another run stored."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from schemas.statuses import AttemptOutcome
from schemas.values.base import Value
from store import rows
from store.database import Connection
from store.runs import jobs
from store.runs.chain import COPIED, Link

JOBS = """
SELECT j.id, j.mode, j.subject, j.inputs, j.kind = 'query' AND q.id IS NULL AS has_moved,
       array_agg(s.stage ORDER BY s.position) AS stages,
       coalesce(array_agg(s.stage) FILTER (WHERE c.status = 'done' AND c.output IS NOT NULL), '{}') AS done
FROM job AS j JOIN stage_run AS s ON s.job_id = j.id LEFT JOIN queries AS q ON q.job_id = j.id
LEFT JOIN current_attempt AS c ON c.job_id = s.job_id AND c.stage = s.stage
WHERE j.run_id = $1 AND ($2::bigint IS NULL OR j.id = $2)
GROUP BY j.id, q.id ORDER BY j.ordinal
"""

SOURCES = """
SELECT c.job_id, c.stage, c.number, c.output_hash, c.attempt_id
FROM current_attempt AS c
JOIN stage_run AS s ON s.job_id = c.job_id AND s.stage = c.stage
WHERE c.job_id = ANY($1::bigint[]) AND c.stage = ANY($2::text[]) AND c.status = 'done'
ORDER BY c.job_id, s.position
"""

# Who deletes the parent, or empties it, waits; or this finds no parent.
HOLD = "SELECT 1 FROM run WHERE id = $1 FOR SHARE"

OF_JOBS = """
UPDATE job SET parent_id = n.parent_id FROM unnest($1::bigint[], $2::bigint[]) AS n (id, parent_id) WHERE job.id = n.id
"""

# Numbers are given in the order of the chain, which is that of the hashes.
ATTEMPTS = """
INSERT INTO stage_attempt
    (job_id, stage, number, fence, worker_id, started_at, ended_at, outcome, inputs, output, output_hash, previous_hash,
     hash)
SELECT n.job_id, o.stage, 1, 1, $1, o.started_at, o.ended_at, o.outcome, n.inputs, o.output, o.output_hash,
       n.previous_hash, n.hash
FROM unnest($2::bigint[], $3::bigint[], $4::jsonb[], $5::text[], $6::text[])
    WITH ORDINALITY AS n (job_id, source_id, inputs, previous_hash, hash, place)
JOIN stage_attempt AS o ON o.id = n.source_id
ORDER BY n.place
RETURNING id
"""

VECTORS = """
INSERT INTO stage_vector (attempt_id, ordinal, vector, text_key, is_cut)
SELECT n.attempt_id, v.ordinal, v.vector, v.text_key, v.is_cut
FROM unnest($1::bigint[], $2::bigint[]) AS n (attempt_id, source_id)
JOIN stage_vector AS v ON v.attempt_id = n.source_id
"""

CALLS = """
INSERT INTO llm_call_use (attempt_id, ordinal, call_id, purpose, is_reused)
SELECT n.attempt_id, u.ordinal, u.call_id, u.purpose, true
FROM unnest($1::bigint[], $2::bigint[]) AS n (attempt_id, source_id)
JOIN llm_call_use AS u ON u.attempt_id = n.source_id
"""

# What is copied was computed by these models: a stage of the fork finds another one of the name changed.
MODELS = """
INSERT INTO run_model (run_id, model, identity, is_from_submission)
SELECT $1, model, identity, is_from_submission FROM run_model WHERE run_id = $2
ON CONFLICT (run_id, model) DO UPDATE SET identity = excluded.identity
"""

FAMILY = """
SELECT p.id AS parent_id, r.request #>> '{fork,from}' AS stage, (r.request #>> '{fork,run}')::bigint AS named,
       (SELECT coalesce(jsonb_object_agg(c.id, c.request #>> '{fork,from}'), '{}')
        FROM run AS c WHERE c.request #>> '{fork,run}' = r.id::text) AS children
FROM run AS r LEFT JOIN run AS p ON p.id = (r.request #>> '{fork,run}')::bigint WHERE r.id = $1
"""


class Family(Value):
    """What a run was forked from, and its forks."""

    parent_id: int | None = None
    """Null for a run that is no fork, and when the parent is deleted."""
    stage: str | None = None
    """The first stage that it computed itself; null for a run that is no fork."""
    named: int | None = None
    """The number of the parent, also when it is deleted."""
    children: dict[int, str] = Field(default={}, examples=[{"13": "rerank"}])
    """Forks of the run, with the first stage that each computed itself."""


class ParentJob(Value):
    """A job that may be forked."""

    id: int
    mode: str
    subject: str
    inputs: dict[str, Any] = Field(repr=False)
    has_moved: bool
    """Its question continued in another run."""
    stages: tuple[str, ...]
    done: frozenset[str]


Source = Mapping[str, Any]
"""An attempt whose output is copied, as SOURCES reads it."""


async def parent_jobs(connection: Connection, run_id: int, *, job_id: int | None = None) -> list[ParentJob]:
    """The jobs of a run, or one of them, in the order of submission."""
    return [ParentJob(**row) for row in await connection.fetch(JOBS, run_id, job_id)]


async def sources(connection: Connection, job_ids: Sequence[int], stages: Sequence[str]) -> dict[int, list[Source]]:
    """The attempts whose outputs count for these stages, by job, in the order of the chain."""
    found: dict[int, list[Source]] = {job_id: [] for job_id in job_ids}
    for row in await connection.fetch(SOURCES, list(job_ids), list(stages)):
        found[row["job_id"]].append(row)
    return found


async def store(
    connection: Connection,
    run_id: int,
    *,
    parent_id: int,
    stage: str,
    settings_hash: str,
    kept: Mapping[int, Sequence[Source]],
) -> list[int]:
    """Make a new run a fork: its jobs, in their order, begin with copies of these attempts of the jobs of the parent.
    In the transaction that stores the run. Nothing happens to the parent. Returns the jobs of the fork."""
    await connection.execute(HOLD, parent_id)
    job_ids = await jobs.of_run(connection, run_id)
    await connection.execute(OF_JOBS, job_ids, list(kept))
    copies: list[tuple[Any, ...]] = []
    for job_id, attempts in zip(job_ids, kept.values(), strict=True):
        previous: str | None = None
        for source in attempts:
            inputs = {"by": COPIED, "from": {"job": source["job_id"], "attempt": source["number"]}}
            link = Link(
                previous_hash=previous,
                job_id=job_id,
                stage=source["stage"],
                number=1,
                outcome=AttemptOutcome.SUCCEEDED,
                settings_hash=settings_hash,
                inputs=inputs,
                output_hash=source["output_hash"],
            ).hash
            copies.append((job_id, source["attempt_id"], json.dumps(inputs), previous, link))
            previous = link
    if copies:
        columns = list(zip(*copies, strict=True))
        attempt_ids = [row["id"] for row in await connection.fetch(ATTEMPTS, COPIED, *columns)]
        for statement in (VECTORS, CALLS):
            await connection.execute(statement, attempt_ids, columns[1])
        stages = {source["stage"] for attempts in kept.values() for source in attempts}
        copied = {"job_id": job_ids, "stage": list(stages)}
        await rows.update(connection, "stage_run", copied, status="done", fence=1, attempts=1, enq_at=None)
    await rows.update(connection, "stage_run", {"job_id": job_ids, "stage": stage}, status="ready", enq_at=rows.NOW)
    await connection.execute(MODELS, run_id, parent_id)
    return job_ids


async def family(connection: Connection, run_id: int) -> Family:
    """The parent and the forks of a run."""
    return Family(**await connection.fetchrow(FAMILY, run_id) or {})
