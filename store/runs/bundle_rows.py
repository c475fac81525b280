"""The rows of a run as a bundle has them: read in one snapshot, and stored again in another database."""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import asyncpg

from schemas.errors import BundleError
from schemas.statuses import AttemptOutcome, JobStatus, StageStatus
from schemas.values.base import Value
from schemas.values.bundles import (
    AttemptRow,
    CallRow,
    CallUseRow,
    JobRow,
    RunPart,
    StageRow,
    VectorRow,
)
from store.database import Connection
from store.runs.chain import stored_hash
from store.runs.imported import IMPORTED
from store.runs.shared_outputs import OUTPUT

RUN = """
SELECT id, name, note, kind, identity, profile, settings, settings_hash, request, version, created_at
FROM run WHERE id = $1
"""

_OF_RUN: Final = "JOIN job AS j ON j.id = t.job_id WHERE j.run_id = $1"
_OF_ATTEMPTS: Final = (
    "JOIN stage_attempt AS a ON a.id = t.attempt_id JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1"
)

# A fork has what it shares with the run that it was forked from.
# The number that hashes cover: a run that was imported and is exported again keeps its own.
STATEMENTS: Final[Mapping[str, str]] = {
    "jobs": """
SELECT coalesce(origin_id, id) AS id, ordinal, kind, mode, subject, inputs, status, created_at, finished_at, note
FROM job WHERE run_id = $1 ORDER BY ordinal
""",
    "stages": f"""
SELECT coalesce(j.origin_id, j.id) AS job_id, t.stage, t.position, t.status, t.fence, t.attempts, t.interruptions,
       t.retries, t.started_at, t.finished_at
FROM stage_run AS t {_OF_RUN} ORDER BY j.ordinal, t.position
""",
    "attempts": f"""
SELECT a.id, coalesce(j.origin_id, j.id) AS job_id, a.stage, a.number, a.fence, a.started_at, a.ended_at, a.outcome,
       a.inputs, {OUTPUT} AS output, a.output_hash, a.previous_hash, a.hash, a.error_type, a.error_message,
       a.error_category, a.error_details
FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1 ORDER BY j.ordinal, a.id
""",
    "vectors": """
SELECT a.id AS attempt_id, t.ordinal, substring(vector_send(t.vector) FROM 5) AS vector
FROM job AS j
JOIN stage_attempt AS a ON a.job_id = j.id
LEFT JOIN attempt_source AS f ON f.attempt_id = a.id
JOIN stage_vector AS t ON t.attempt_id = coalesce(f.source_id, a.id)
WHERE j.run_id = $1 ORDER BY a.id, t.ordinal
""",
    "calls": """
SELECT c.id, c.key, c.model, c.digest, c.request, c.reply, c.stop_reason, c.prompt_tokens, c.reply_tokens, c.seconds,
       c.tokens, c.served_by, c.created_at, c.rejected_at
FROM llm_call AS c
WHERE EXISTS (
    SELECT FROM llm_call_use AS u JOIN stage_attempt AS a ON a.id = u.attempt_id JOIN job AS j ON j.id = a.job_id
    WHERE u.call_id = c.id AND j.run_id = $1
) ORDER BY c.id
""",
    "call_uses": f"""
SELECT t.attempt_id, t.ordinal, t.call_id, t.purpose, t.is_reused
FROM llm_call_use AS t {_OF_ATTEMPTS} ORDER BY t.attempt_id, t.ordinal
""",
    "questions": """
SELECT coalesce(j.origin_id, j.id) AS job_id, q.external_id, (
           SELECT string_agg(k.name, ', ' ORDER BY k.name) FROM corpus AS k
           WHERE k.id = q.corpus_id OR k.id = ANY(q.other_corpus_ids)
       ) AS corpus, q.original_query,
       coalesce((SELECT jsonb_object_agg(g.document, g.relevance) FROM query_judgement AS g WHERE g.query_id = q.id),
                '{}') AS judgements
FROM queries AS q JOIN job AS j ON j.id = q.job_id
WHERE j.run_id = $1 ORDER BY j.ordinal
""",
}

INSERT_RUN = """
INSERT INTO run (kind, note, identity, profile, settings, settings_hash, request, version, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id
"""

INSERT_JOB = """
INSERT INTO job (run_id, ordinal, kind, mode, subject, inputs, status, created_at, finished_at, note, origin_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING id
"""

INSERT_STAGE = """
INSERT INTO stage_run
    (job_id, stage, position, status, fence, attempts, interruptions, retries, started_at, finished_at, enq_n)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0)
"""

INSERT_ATTEMPT = """
INSERT INTO stage_attempt
    (job_id, stage, number, fence, worker_id, started_at, ended_at, outcome, inputs, output, output_hash, previous_hash,
     hash, error_type, error_message, error_category, error_details)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) RETURNING id
"""

INSERT_VECTOR = "INSERT INTO stage_vector (attempt_id, ordinal, vector) VALUES ($1, $2, $3::float4[]::vector)"

INSERT_CALL = """
INSERT INTO llm_call
    (key, model, digest, request, reply, stop_reason, prompt_tokens, reply_tokens, seconds, tokens, served_by,
     created_at, rejected_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING id
"""

INSERT_USE = """
INSERT INTO llm_call_use (attempt_id, ordinal, call_id, purpose, is_reused) VALUES ($1, $2, $3, $4, $5)
"""

KEEP = """
INSERT INTO imported_run (run_id, bundle_hash, manifest, content_hashes, basis, origin) VALUES ($1, $2, $3, $4, $5, $6)
"""

OF_BUNDLE = "SELECT run_id FROM imported_run WHERE bundle_hash = $1"

OUTPUTS = """
SELECT j.origin_id, a.stage, a.number, a.output::text AS output,
       (SELECT string_agg(substring(vector_send(v.vector) FROM 5), '' ORDER BY v.ordinal)
        FROM stage_vector AS v WHERE v.attempt_id = a.id) AS vectors
FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1 AND a.output IS NOT NULL
"""


class ImportedRows(NamedTuple):
    """The tables of a bundle, read and valid each by itself."""

    run: RunPart
    jobs: Sequence[JobRow]
    stages: Sequence[StageRow]
    attempts: Sequence[AttemptRow]
    vectors: Sequence[VectorRow]
    calls: Sequence[CallRow]
    call_uses: Sequence[CallUseRow]


async def run_part(connection: Connection, run_id: int) -> RunPart | None:
    """The run itself; None when there is none of that number."""
    row = await connection.fetchrow(RUN, run_id)
    return None if row is None else RunPart(**dict(row))


async def table_rows(connection: Connection, run_id: int, table: str, row: type[Value]) -> Iterator[Value]:
    """The rows of a table of a run."""
    found = await connection.fetch(STATEMENTS[table], run_id)
    return (row(**_readable(one)) for one in found)


def _readable(row: Mapping[str, Any]) -> dict[str, Any]:
    values = dict(row)
    if "vector" in values:
        # In the byte order of the hashes.
        swapped = bytearray(values["vector"])
        swapped[0::4], swapped[1::4], swapped[2::4], swapped[3::4] = (values["vector"][at::4] for at in (3, 2, 1, 0))
        values["vector"] = base64.b64encode(bytes(swapped)).decode()
    return values


async def of_bundle(connection: Connection, bundle_hash: str) -> int | None:
    """The run that was imported from a bundle."""
    found: int | None = await connection.fetchval(OF_BUNDLE, bundle_hash)
    return found


async def store_rows(connection: Connection, rows: ImportedRows, identity: str, request: Mapping[str, Any]) -> int:
    """Store a run with all its rows, in one transaction of the caller; returns its number.

    Nothing of it is due: no worker takes a stage of it, and no call of it is found by another run. Raises BundleError
    for rows that do not belong together or cannot be stored.
    """
    try:
        return await _store(connection, rows, identity, request)
    except KeyError as error:
        raise BundleError(f"Its rows do not belong together: {error.args[0]} is named and is not there.") from None
    except (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError, ValueError, OverflowError) as error:
        raise BundleError(f"Its rows cannot be stored ({type(error).__name__}).") from None


async def _store(connection: Connection, rows: ImportedRows, identity: str, request: Mapping[str, Any]) -> int:
    run = rows.run
    run_id: int = await connection.fetchval(
        INSERT_RUN,
        run.kind,
        run.note,
        identity,
        run.profile,
        json.dumps(run.settings),
        run.settings_hash,
        json.dumps(request),
        run.version,
        run.created_at,
    )
    job_ids = _numbered(
        "job",
        [job.id for job in rows.jobs],
        await connection.fetchmany(INSERT_JOB, [_job(run_id, job) for job in rows.jobs]),
    )
    await connection.executemany(
        INSERT_STAGE, [_stage(job_ids[_key("job", stage.job_id)], stage) for stage in rows.stages]
    )
    attempts = [_attempt(job_ids[_key("job", one.job_id)], one) for one in rows.attempts]
    attempt_ids = _numbered(
        "attempt", [one.id for one in rows.attempts], await connection.fetchmany(INSERT_ATTEMPT, attempts)
    )
    await connection.executemany(
        INSERT_VECTOR,
        [(attempt_ids[_key("attempt", one.attempt_id)], one.ordinal, _floats(one.vector)) for one in rows.vectors],
    )
    calls = await connection.fetchmany(INSERT_CALL, [_call(identity, one) for one in rows.calls])
    call_ids = _numbered("call", [one.id for one in rows.calls], calls)
    await connection.executemany(
        INSERT_USE,
        [
            (
                attempt_ids[_key("attempt", one.attempt_id)],
                one.ordinal,
                call_ids[_key("call", one.call_id)],
                one.purpose,
                one.is_reused,
            )
            for one in rows.call_uses
        ],
    )
    return run_id


async def keep_origin(
    connection: Connection,
    run_id: int,
    bundle_hash: str,
    manifest: Mapping[str, Any],
    *,
    basis: Mapping[str, Any] | None,
    origin: Mapping[str, Any],
) -> None:
    """Note of an imported run where it is from, what its reports are computed from, and what was stored of it."""
    hashes = {
        f"{row['origin_id']}/{row['stage']}/{row['number']}": stored_hash(row["output"], row["vectors"] or b"")
        for row in await connection.fetch(OUTPUTS, run_id)
    }
    await connection.execute(
        KEEP,
        run_id,
        bundle_hash,
        json.dumps(manifest),
        json.dumps(hashes),
        None if basis is None else json.dumps(basis),
        json.dumps(origin),
    )


async def job_numbers(connection: Connection, run_id: int) -> dict[int, int]:
    """The number of each job of an imported run here, by its number there."""
    rows = await connection.fetch("SELECT origin_id, id FROM job WHERE run_id = $1", run_id)
    return {row["origin_id"]: row["id"] for row in rows}


def _key(what: str, number: int) -> str:
    return f"{what} {number}"


def _numbered(what: str, there: Sequence[int], here: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    found = {_key(what, number): row["id"] for number, row in zip(there, here, strict=True)}
    if len(found) < len(there):
        raise ValueError(f"a number of a {what} is there twice")
    return found


def _job(run_id: int, job: JobRow) -> tuple[Any, ...]:
    # An open job would be taken by a worker.
    status = JobStatus.CANCELLED if job.status.is_open or job.status is JobStatus.PAUSED else job.status
    return (
        run_id,
        job.ordinal,
        job.kind,
        job.mode,
        job.subject,
        json.dumps(job.inputs),
        status,
        job.created_at,
        job.finished_at,
        job.note,
        job.id,
    )


def _stage(job_id: int, stage: StageRow) -> tuple[Any, ...]:
    due = stage.status in (StageStatus.READY, StageStatus.RUNNING)
    return (
        job_id,
        stage.stage,
        stage.position,
        StageStatus.WAITING if due else stage.status,
        stage.fence,
        stage.attempts,
        stage.interruptions,
        stage.retries,
        stage.started_at,
        stage.finished_at,
    )


def _attempt(job_id: int, one: AttemptRow) -> tuple[Any, ...]:
    return (
        job_id,
        one.stage,
        one.number,
        one.fence,
        IMPORTED,
        one.started_at,
        one.ended_at,
        AttemptOutcome(one.outcome),
        _json(one.inputs),
        _json(one.output),
        one.output_hash,
        one.previous_hash,
        one.hash,
        one.error_type,
        one.error_message,
        one.error_category,
        _json(one.error_details),
    )


def _call(identity: str, one: CallRow) -> tuple[Any, ...]:
    return (
        # No run of this database is given the answer of another.
        f"imported:{identity}:{one.id}:{one.key}",
        one.model,
        one.digest,
        json.dumps(one.request),
        one.reply or "",
        one.stop_reason,
        one.prompt_tokens,
        one.reply_tokens,
        one.seconds,
        _json(one.tokens),
        _json(one.served_by),
        one.created_at,
        one.rejected_at,
    )


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


def _floats(encoded: Any) -> list[float]:
    import numpy as np

    numbers: list[float] = np.frombuffer(base64.b64decode(str(encoded), validate=True), dtype="<f4").tolist()
    return numbers
