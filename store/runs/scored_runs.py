"""Scored runs as their reports are computed from them."""

from schemas.errors import Refused, run_missing
from schemas.values.runs import IndexIdentity, OutputTelemetry, ReportedRun, ScoredJob, ScoredRun
from store.database import Connection
from store.runs import call_costs
from store.runs.failures import run_failures
from store.runs.run_view import run_origin, siblings

RUN = """
SELECT id AS run_id, created_at AS submitted_at, profile, version, identity, settings_hash, request, settings
FROM run WHERE id = $1
"""

KIND = """
SELECT r.kind, EXISTS (SELECT FROM job AS j JOIN stage_run AS s ON s.job_id = j.id
                       WHERE j.run_id = r.id AND j.kind = 'participant' AND s.stage = 'score') AS has_scores
FROM run AS r WHERE r.id = $1
"""

JOBS = """
SELECT j.id AS job_id, j.mode, j.subject::integer AS participant_id, j.status,
       (j.inputs ->> 'index_id')::bigint AS index_id, a.output AS scores,
       p.items AS labels,
       nullif(e.output ->> 'model_digest', '') AS embedding_digest, nullif(e.output ->> 'dtype', '') AS embedding_dtype,
       r.output AS ranked, v.output AS validated
FROM job AS j
LEFT JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'score' AND a.status = 'done'
LEFT JOIN current_attempt AS e ON e.job_id = j.id AND e.stage = 'embed' AND e.status = 'done'
LEFT JOIN current_attempt AS r ON r.job_id = j.id AND r.stage = 'rerank' AND r.status = 'done'
LEFT JOIN current_attempt AS v ON v.job_id = j.id AND v.stage = 'validate' AND v.status = 'done'
LEFT JOIN participant AS p ON (p.data_set, p.id) = (j.inputs ->> 'data_set', j.subject::integer)
WHERE j.run_id = $1
ORDER BY j.ordinal
"""

INDEXES = f"""
SELECT {", ".join(IndexIdentity.model_fields)} FROM reference_index
WHERE id IN (SELECT (inputs ->> 'index_id')::bigint FROM job WHERE run_id = $1)
ORDER BY id
"""

# Of every output that counts and whose stage parses replies or embeds texts.
TELEMETRY = """
SELECT a.job_id, a.stage, coalesce(a.output -> 'repairs', '[]') AS repairs,
       coalesce(a.output -> 'reasks', '[]') AS reasks, a.output -> 'cut_texts' AS cut_texts
FROM current_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND a.status = 'done' AND a.output ?| ARRAY['repairs', 'reasks', 'cut_texts']
ORDER BY j.ordinal, a.stage
"""


async def reported(connection: Connection, run_id: int) -> ReportedRun:
    """What the report of a run that is stored needs, whatever its kind."""
    work, calls = await call_costs.of_run(connection, run_id, by_job=True)
    return ReportedRun(
        **await connection.fetchrow(RUN, run_id),
        work=work,
        calls=calls,
        telemetry=tuple(OutputTelemetry(**row) for row in await connection.fetch(TELEMETRY, run_id)),
        origin=await run_origin(connection, run_id),
    )


async def scored_run(connection: Connection, run_id: int) -> ScoredRun:
    """A run. Raises MissingError, and Refused when no job of it ends in scores."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        run = await connection.fetchrow(KIND, run_id)
        if run is None:
            raise run_missing(run_id)
        if not run["has_scores"]:
            shown = f"`ragq tags show r{run_id}`" if run["kind"] == "tags" else f"`ragq show r{run_id}`"
            raise Refused(
                f"No job of run r{run_id} scores a participant, so there is nothing to report. "
                f"{shown} shows what it did."
            )
        return ScoredRun(
            **vars(await reported(connection, run_id)),
            jobs=tuple(ScoredJob(**row) for row in await connection.fetch(JOBS, run_id)),
            indexes=tuple(IndexIdentity(**row) for row in await connection.fetch(INDEXES, run_id)),
            failures=await run_failures(connection, run_id),
            siblings=await siblings(connection, run_id),
        )
