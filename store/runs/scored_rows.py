"""Reads the rows that reports of a scored run are computed from, all of them at one moment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.errors import Refused
from schemas.values.costs import KeptStage, StageCalls
from schemas.values.failures import RunFailures
from schemas.values.figures import SiblingRun
from schemas.values.runs import RunOrigin
from store.database import Connection
from store.runs import call_costs, call_uses
from store.runs.call_uses import CallCounts
from store.runs.failures import run_failures
from store.runs.forks import COPIED
from store.runs.run_figures import siblings
from store.runs.run_view import run_origin

Row = Mapping[str, Any]

RUN = """
SELECT r.kind, r.profile, r.version, r.identity, r.settings_hash, r.request, r.settings,
       EXISTS (SELECT FROM job AS j JOIN stage_run AS s ON s.job_id = j.id
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

INDEXES = """
SELECT id, name, data_set, split, split_csv_hash, split_ids_hash, variant, backend, model, model_digest, dimension,
       chunk_size, chunk_step, min_evidence_chars, participants, chunks
FROM reference_index
WHERE id IN (SELECT (inputs ->> 'index_id')::bigint FROM job WHERE run_id = $1)
ORDER BY id
"""

# What another run computed has no times here.
ATTEMPTS = f"""
SELECT a.job_id, a.stage, a.started_at, a.ended_at
FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id JOIN stage_run AS s ON s.job_id = j.id AND s.stage = a.stage
WHERE j.run_id = $1 AND a.worker_id <> '{COPIED}'
ORDER BY j.ordinal, s.position, a.number
"""


# Of every output that counts and whose stage parses replies or embeds texts.
TELEMETRY = """
SELECT a.job_id, a.stage, coalesce(a.output -> 'repairs', '[]') AS repairs,
       coalesce(a.output -> 'reasks', '[]') AS reasks, a.output -> 'cut_texts' AS cut_texts
FROM current_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND a.status = 'done' AND a.output ?| ARRAY['repairs', 'reasks', 'cut_texts']
ORDER BY j.ordinal, a.stage
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredRows:
    """A run as it is stored: outputs of stages, indexes, times and telemetry are rows as the database gives them."""

    run_id: int
    run: Row
    jobs: Sequence[Row]
    indexes: Sequence[Row]
    attempts: Sequence[Row]
    telemetry: Sequence[Row]
    failures: RunFailures
    calls: Mapping[int, CallCounts]
    stage_calls: tuple[StageCalls, ...]
    retried: tuple[KeptStage, ...]
    copied: tuple[KeptStage, ...]
    origin: RunOrigin
    siblings: tuple[SiblingRun, ...]


async def scored_rows(connection: Connection, run_id: int) -> ScoredRows | None:
    """A run; None when there is none of that number. Raises Refused when no job of it ends in scores."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        run = await connection.fetchrow(RUN, run_id)
        found = await run_failures(connection, run_id)
        if run is None or found is None:
            return None
        if not run["has_scores"]:
            shown = f"`ragq tags show r{run_id}`" if run["kind"] == "tags" else f"`ragq show r{run_id}`"
            raise Refused(
                f"No job of run r{run_id} scores a participant, so there is nothing to report. "
                f"{shown} shows what it did."
            )
        return ScoredRows(
            run_id=run_id,
            run=run,
            jobs=await connection.fetch(JOBS, run_id),
            indexes=await connection.fetch(INDEXES, run_id),
            attempts=await connection.fetch(ATTEMPTS, run_id),
            telemetry=await connection.fetch(TELEMETRY, run_id),
            failures=found,
            calls=await call_uses.counts(connection, run_id),
            stage_calls=await call_costs.stage_calls(connection, run_id),
            retried=await call_costs.retried_stages(connection, run_id),
            copied=await call_costs.copied_stages(connection, run_id),
            origin=await run_origin(connection, run_id),
            siblings=await siblings(connection, run_id),
        )
