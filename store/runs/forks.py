"""Forks: runs whose jobs share the first stages of the jobs of another run, by pointing at their attempts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from schemas.statuses import AttemptOutcome, JobStatus
from store.database import Connection
from store.runs.chain import attempt_hash
from store.runs.shared_outputs import SHARED

JOBS = """
SELECT j.id, j.mode, j.subject, j.inputs, j.status, j.kind = 'query' AND q.id IS NULL AS has_moved,
       array_agg(s.stage ORDER BY s.position) AS stages,
       array_agg(s.stage ORDER BY s.position) FILTER (WHERE s.status = 'done') AS done
FROM job AS j JOIN stage_run AS s ON s.job_id = j.id LEFT JOIN queries AS q ON q.job_id = j.id
WHERE j.run_id = $1 AND ($2::bigint IS NULL OR j.id = $2)
GROUP BY j.id, q.id ORDER BY j.ordinal
"""

SOURCES = """
SELECT c.job_id, c.stage, c.number, c.output_hash, coalesce(f.source_id, c.attempt_id) AS source_id
FROM current_attempt AS c
JOIN stage_run AS s ON s.job_id = c.job_id AND s.stage = c.stage
LEFT JOIN attempt_source AS f ON f.attempt_id = c.attempt_id
WHERE c.job_id = ANY($1::bigint[]) AND c.stage = ANY($2::text[]) AND c.status = 'done'
ORDER BY c.job_id, s.position
"""

# Who deletes the parent waits, and hands on what is shared; or this finds no parent.
HOLD = "SELECT 1 FROM run WHERE id = $1 FOR KEY SHARE"

RUN = "INSERT INTO run_fork (run_id, parent_id, stage) VALUES ($1, $2, $3)"

OF_JOBS = "INSERT INTO job_fork (job_id, parent_id) SELECT * FROM unnest($1::bigint[], $2::bigint[])"

# Numbers are given in the order of the chain, which is that of the hashes.
ATTEMPTS = """
INSERT INTO stage_attempt
    (job_id, stage, number, fence, worker_id, started_at, ended_at, outcome, inputs, output_hash, previous_hash, hash)
SELECT n.job_id, n.stage, 1, 1, $1, now(), now(), $2, n.inputs, n.output_hash, n.previous_hash, n.hash
FROM unnest($3::bigint[], $4::text[], $5::jsonb[], $6::text[], $7::text[], $8::text[])
    WITH ORDINALITY AS n (job_id, stage, inputs, output_hash, previous_hash, hash, place)
ORDER BY n.place
RETURNING id, job_id, stage
"""

POINT = "INSERT INTO attempt_source (attempt_id, source_id) SELECT * FROM unnest($1::bigint[], $2::bigint[])"

SHARED_STAGES = """
UPDATE stage_run SET status = 'done', fence = 1, attempts = 1, enq_at = NULL
WHERE job_id = ANY($1::bigint[]) AND stage = ANY($2::text[])
"""

FIRST_OWN_STAGE = """
UPDATE stage_run SET status = 'ready', enq_at = now() WHERE job_id = ANY($1::bigint[]) AND stage = $2
"""

QUESTIONS = """
INSERT INTO queries (job_id, corpus_id, other_corpus_ids, external_id, original_query, reference_answer)
SELECT f.job_id, q.corpus_id, q.other_corpus_ids, q.external_id, q.original_query, q.reference_answer
FROM job_fork AS f JOIN queries AS q ON q.job_id = f.parent_id
WHERE f.job_id = ANY($1::bigint[]) ORDER BY f.job_id
"""

JUDGEMENTS = """
INSERT INTO query_judgement (query_id, document, relevance)
SELECT n.id, judged.document, judged.relevance
FROM job_fork AS f
JOIN queries AS n ON n.job_id = f.job_id
JOIN queries AS q ON q.job_id = f.parent_id
JOIN query_judgement AS judged ON judged.query_id = q.id
WHERE f.job_id = ANY($1::bigint[])
"""

# What is shared was computed by these models: a stage of the fork finds another one of the name changed.
MODELS = """
INSERT INTO run_model (run_id, model, identity, is_from_submission)
SELECT $1, model, identity, is_from_submission FROM run_model WHERE run_id = $2
ON CONFLICT (run_id, model) DO UPDATE SET identity = excluded.identity
"""

UNFINISHED = """
SELECT DISTINCT run_id FROM job WHERE run_id = ANY($1::bigint[]) AND status = ANY($2::text[]) ORDER BY run_id
"""

OF_SETTINGS = """
SELECT r.id, ARRAY(SELECT r.settings -> name ->> 'value' FROM unnest($3::text[]) AS name) AS values
FROM run AS r JOIN run_fork AS f ON f.run_id = r.id
WHERE f.parent_id = $1 AND f.stage = $2 AND r.request -> 'fork' -> 'set' = to_jsonb($3::text[])
  AND NOT r.request -> 'fork' ? 'job'
ORDER BY r.id
"""

STAGE_NAMES = """
SELECT DISTINCT s.stage FROM job AS j JOIN stage_run AS s ON s.job_id = j.id WHERE j.run_id = $1
"""


@dataclass(frozen=True, kw_only=True)
class ParentJob:
    """A job that may be forked."""

    id: int
    mode: str
    subject: str
    inputs: dict[str, Any] = field(repr=False)
    status: JobStatus
    has_moved: bool
    """Its question continued in another run."""
    stages: tuple[str, ...]
    done: frozenset[str]


class Source(NamedTuple):
    """An attempt whose output is shared."""

    job_id: int
    stage: str
    number: int
    output_hash: str
    source_id: int
    """The attempt that stored the output."""


async def parent_jobs(connection: Connection, run_id: int, *, job_id: int | None = None) -> list[ParentJob]:
    """The jobs of a run, or one of them, in the order of submission."""
    return [
        ParentJob(
            **{
                **row,
                "status": JobStatus(row["status"]),
                "stages": tuple(row["stages"]),
                "done": frozenset(row["done"] or ()),
            }
        )
        for row in await connection.fetch(JOBS, run_id, job_id)
    ]


async def of_settings(
    connection: Connection, parent_id: int, stage: str, names: Sequence[str]
) -> dict[int, dict[str, str]]:
    """The forks of a whole run from a stage that set exactly these settings, oldest first, with their values."""
    wanted = sorted(names)
    rows = await connection.fetch(OF_SETTINGS, parent_id, stage, wanted)
    return {row["id"]: dict(zip(wanted, row["values"], strict=True)) for row in rows}


async def stage_names(connection: Connection, run_id: int) -> set[str]:
    """The stages of the jobs of a run."""
    return {row["stage"] for row in await connection.fetch(STAGE_NAMES, run_id)}


async def sources(connection: Connection, job_ids: Sequence[int], stages: Sequence[str]) -> dict[int, list[Source]]:
    """The attempts whose outputs count for these stages, by job, in the order of the chain."""
    found: dict[int, list[Source]] = {job_id: [] for job_id in job_ids}
    for row in await connection.fetch(SOURCES, list(job_ids), list(stages)):
        found[row["job_id"]].append(Source(**dict(row)))
    return found


async def store(
    connection: Connection,
    run_id: int,
    *,
    parent_id: int,
    stage: str,
    settings_hash: str,
    shared: Mapping[int, Sequence[Source]],
) -> None:
    """Make a new run a fork: its jobs, in their order, share these attempts of the jobs of the parent.

    In the transaction that stores the run. Nothing happens to the parent.
    """
    await connection.execute(HOLD, parent_id)
    job_ids = [
        row["id"] for row in await connection.fetch("SELECT id FROM job WHERE run_id = $1 ORDER BY ordinal", run_id)
    ]
    await connection.execute(RUN, run_id, parent_id, stage)
    await connection.execute(OF_JOBS, job_ids, list(shared))
    columns: tuple[list[Any], ...] = ([], [], [], [], [], [])
    source_of: dict[tuple[int, str], int] = {}
    for job_id, attempts in zip(job_ids, shared.values(), strict=True):
        previous: str | None = None
        for source in attempts:
            inputs = {"by": SHARED, "from": {"job": source.job_id, "attempt": source.number}}
            link = attempt_hash(
                previous_hash=previous,
                job_id=job_id,
                stage=source.stage,
                number=1,
                outcome=AttemptOutcome.SUCCEEDED,
                settings_hash=settings_hash,
                inputs=inputs,
                output_hash=source.output_hash,
            )
            row = (job_id, source.stage, json.dumps(inputs), source.output_hash, previous, link)
            for column, value in zip(columns, row, strict=True):
                column.append(value)
            source_of[job_id, source.stage] = source.source_id
            previous = link
    rows = await connection.fetch(ATTEMPTS, SHARED, AttemptOutcome.SUCCEEDED, *columns)
    await connection.execute(
        POINT, [row["id"] for row in rows], [source_of[row["job_id"], row["stage"]] for row in rows]
    )
    stages = sorted({source.stage for attempts in shared.values() for source in attempts})
    await connection.execute(SHARED_STAGES, job_ids, stages)
    await connection.execute(FIRST_OWN_STAGE, job_ids, stage)
    await connection.execute(QUESTIONS, job_ids)
    await connection.execute(JUDGEMENTS, job_ids)
    await connection.execute(MODELS, run_id, parent_id)


async def unfinished(connection: Connection, run_ids: Sequence[int]) -> list[int]:
    """Those of the runs that have jobs which run, or will by themselves."""
    states = [status for status in JobStatus if status.is_open]
    return [row["run_id"] for row in await connection.fetch(UNFINISHED, list(run_ids), states)]
