"""Reads a scored run for its reports, all of it at one moment."""

from collections.abc import Mapping
from typing import Any, Final

from schemas.errors import Refused
from schemas.values.base import Value
from schemas.values.participants import RankedReferences, ValidatedReferences
from schemas.values.scored_runs import (
    AttemptTime,
    CallCount,
    IndexIdentity,
    ScoredJob,
    ScoredRun,
    SettingValue,
)
from schemas.values.scoring import ParticipantScores
from store.database import Connection
from store.runs import call_costs, call_uses
from store.runs.failures import run_failures
from store.runs.imported import IMPORTED
from store.runs.run_figures import siblings
from store.runs.run_origins import run_origin
from store.runs.shared_outputs import SHARED
from store.runs.telemetry import output_telemetry

_OUTPUTS: Final[dict[str, type[Value]]] = {
    "scores": ParticipantScores,
    "ranked": RankedReferences,
    "validated": ValidatedReferences,
}

RUN = """
SELECT r.profile, r.version, r.identity, r.settings_hash, r.request, r.settings,
       EXISTS (SELECT FROM job AS j JOIN stage_run AS s ON s.job_id = j.id
               WHERE j.run_id = r.id AND j.kind = 'participant' AND s.stage = 'score') AS has_scores
FROM run AS r WHERE r.id = $1
"""

JOBS = """
SELECT j.id AS job_id, j.mode, j.subject::integer AS participant_id, j.status,
       (j.inputs ->> 'index_id')::bigint AS index_id, a.output AS scores,
       coalesce(j.inputs -> 'ground_truth', p.items) AS labels,
       nullif(e.output ->> 'model_digest', '') AS embedding_digest, nullif(e.output ->> 'dtype', '') AS embedding_dtype,
       r.output AS ranked, v.output AS validated
FROM job AS j
LEFT JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'score' AND a.status = 'done'
LEFT JOIN current_attempt AS e ON e.job_id = j.id AND e.stage = 'embed' AND e.status = 'done'
LEFT JOIN current_attempt AS r ON r.job_id = j.id AND r.stage = 'rerank' AND r.status = 'done'
LEFT JOIN current_attempt AS v ON v.job_id = j.id AND v.stage = 'validate' AND v.status = 'done'
LEFT JOIN participant AS p ON p.id = j.subject::integer
WHERE j.run_id = $1
ORDER BY j.ordinal
"""

INDEXES = """
SELECT id, name, split, split_csv_hash, split_ids_hash, variant, backend, model, model_digest, dimension, chunk_size,
       chunk_step, min_evidence_chars, participants, chunks
FROM reference_index
WHERE id IN (SELECT (inputs ->> 'index_id')::bigint FROM job WHERE run_id = $1)
ORDER BY id
"""

REFERENCES = """
SELECT r.output AS ranked, v.output AS validated
FROM job AS j
JOIN current_attempt AS r ON r.job_id = j.id AND r.stage = 'rerank' AND r.status = 'done'
JOIN current_attempt AS v ON v.job_id = j.id AND v.stage = 'validate' AND v.status = 'done'
WHERE j.run_id = $1 AND j.kind = 'participant'
"""

# What another program or another run computed has no times here.
ATTEMPTS = f"""
SELECT a.job_id, a.stage, a.started_at, a.ended_at
FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id JOIN stage_run AS s ON s.job_id = j.id AND s.stage = a.stage
WHERE j.run_id = $1 AND a.worker_id NOT IN ('{IMPORTED}', '{SHARED}')
ORDER BY j.ordinal, s.position, a.number
"""


async def scored_run(connection: Connection, run_id: int) -> ScoredRun | None:
    """A run; None when there is none of that number. Raises Refused when no job of it ends in scores."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        run = await connection.fetchrow(RUN, run_id)
        found = await run_failures(connection, run_id)
        if run is None or found is None:
            return None
        if not run["has_scores"]:
            raise Refused(
                f"No job of run r{run_id} scores a participant, so there is nothing to report. "
                f"`ragq show r{run_id}` shows what it did."
            )
        calls = await call_uses.counts(connection, run_id)
        return ScoredRun(
            run_id=run_id,
            profile=run["profile"],
            version=run["version"],
            identity=run["identity"],
            settings_hash=run["settings_hash"],
            request=run["request"],
            settings={name: SettingValue(**setting) for name, setting in run["settings"].items()},
            jobs=tuple(_job(row) for row in await connection.fetch(JOBS, run_id)),
            indexes=tuple(IndexIdentity(**dict(row)) for row in await connection.fetch(INDEXES, run_id)),
            failures=found,
            attempts=tuple(AttemptTime(**dict(row)) for row in await connection.fetch(ATTEMPTS, run_id)),
            stage_calls=await call_costs.stage_calls(connection, run_id),
            retried=await call_costs.retried_stages(connection, run_id),
            shared=await call_costs.shared_stages(connection, run_id),
            telemetry=await output_telemetry(connection, run_id),
            calls=tuple(CallCount(job_id=job_id, paid=n.paid, reused=n.reused) for job_id, n in calls.items()),
            origin=await run_origin(connection, run_id),
            siblings=await siblings(connection, run_id),
        )


async def reference_outputs(connection: Connection, run_id: int) -> list[tuple[RankedReferences, ValidatedReferences]]:
    """What the stages `rerank` and `validate` of the jobs of a run stored, of those that have both."""
    return [
        (RankedReferences.model_validate(row["ranked"]), ValidatedReferences.model_validate(row["validated"]))
        for row in await connection.fetch(REFERENCES, run_id)
    ]


def _job(row: Mapping[str, Any]) -> ScoredJob:
    outputs = {
        name: None if row[name] is None else output.model_validate(row[name]) for name, output in _OUTPUTS.items()
    }
    return ScoredJob(**{**row, **outputs})
