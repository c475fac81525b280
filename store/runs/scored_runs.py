"""Reads a scored run for its reports, all of it at one moment."""

from collections.abc import Mapping
from typing import Any

from schemas.errors import Refused
from schemas.values.scored_runs import AttemptTime, CallCount, IndexIdentity, ScoredJob, ScoredRun, SettingValue
from schemas.values.scoring import ParticipantScores
from store.database import Connection
from store.runs import ledger
from store.runs.failures import run_failures
from store.runs.run_figures import siblings
from store.runs.run_origins import run_origin

RUN = """
SELECT r.profile, r.version, r.identity, r.settings_hash, r.request, r.settings,
       EXISTS (SELECT FROM job AS j JOIN stage_run AS s ON s.job_id = j.id
               WHERE j.run_id = r.id AND j.kind = 'participant' AND s.stage = 'score') AS has_scores
FROM run AS r WHERE r.id = $1
"""

JOBS = """
SELECT j.id AS job_id, j.mode, j.subject::integer AS participant_id, j.status,
       (j.inputs ->> 'index_id')::bigint AS index_id, a.output AS scores, p.items AS labels,
       nullif(e.output ->> 'model_digest', '') AS embedding_digest, r.output ->> 'ranker' AS ranker
FROM job AS j
LEFT JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'score' AND a.status = 'done'
LEFT JOIN current_attempt AS e ON e.job_id = j.id AND e.stage = 'embed' AND e.status = 'done'
LEFT JOIN current_attempt AS r ON r.job_id = j.id AND r.stage = 'rerank' AND r.status = 'done'
LEFT JOIN participant AS p ON p.id = j.subject::integer
WHERE j.run_id = $1
ORDER BY j.ordinal
"""

INDEXES = """
SELECT id, name, split, split_csv_hash, split_ids_hash, backend, model, model_digest, dimension, chunk_size,
       chunk_step, min_evidence_chars, participants, chunks
FROM reference_index
WHERE id IN (SELECT (inputs ->> 'index_id')::bigint FROM job WHERE run_id = $1)
ORDER BY id
"""

LABELS = """
SELECT DISTINCT j.subject::integer AS participant_id, p.items
FROM job AS j
JOIN stage_run AS s ON s.job_id = j.id AND s.stage = 'score'
LEFT JOIN participant AS p ON p.id = j.subject::integer
WHERE j.run_id = $1 AND j.kind = 'participant'
"""

ATTEMPTS = """
SELECT a.job_id, a.stage, a.started_at, a.ended_at
FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id JOIN stage_run AS s ON s.job_id = j.id AND s.stage = a.stage
WHERE j.run_id = $1
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
        calls = await ledger.counts(connection, run_id)
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
            calls=tuple(CallCount(job_id=job_id, paid=n.paid, reused=n.reused) for job_id, n in calls.items()),
            origin=await run_origin(connection, run_id),
            siblings=await siblings(connection, run_id),
        )


async def labels(connection: Connection, run_id: int) -> dict[int, dict[str, Any] | None]:
    """The stored item labels of the participants that a run scores; None for those without any."""
    return {row["participant_id"]: row["items"] for row in await connection.fetch(LABELS, run_id)}


def _job(row: Mapping[str, Any]) -> ScoredJob:
    scores = None if row["scores"] is None else ParticipantScores.model_validate(row["scores"])
    return ScoredJob(**{**row, "scores": scores})
