"""Scored runs as their reports are computed from them."""

from collections.abc import Mapping
from typing import Any, Final

from schemas.values.base import Value
from schemas.values.participants import RankedReferences, ValidatedReferences
from schemas.values.scored_runs import (
    AttemptTime,
    CallCount,
    IndexIdentity,
    OutputTelemetry,
    ScoredJob,
    ScoredRun,
    SettingValue,
)
from schemas.values.scoring import ParticipantScores
from store.database import Connection
from store.runs.scored_rows import ScoredRows, scored_rows

_OUTPUTS: Final[dict[str, type[Value]]] = {
    "scores": ParticipantScores,
    "ranked": RankedReferences,
    "validated": ValidatedReferences,
}

REFERENCES = """
SELECT r.output AS ranked, v.output AS validated, s.output AS scores
FROM job AS j
JOIN current_attempt AS r ON r.job_id = j.id AND r.stage = 'rerank' AND r.status = 'done'
JOIN current_attempt AS v ON v.job_id = j.id AND v.stage = 'validate' AND v.status = 'done'
LEFT JOIN current_attempt AS s ON s.job_id = j.id AND s.stage = 'score' AND s.status = 'done'
WHERE j.run_id = $1 AND j.kind = 'participant'
"""


async def scored_run(connection: Connection, run_id: int) -> ScoredRun | None:
    """A run; None when there is none of that number. Raises Refused when no job of it ends in scores."""
    rows = await scored_rows(connection, run_id)
    return None if rows is None else as_scored_run(rows)


def as_scored_run(rows: ScoredRows) -> ScoredRun:
    """The run of these rows."""
    run = rows.run
    return ScoredRun(
        run_id=rows.run_id,
        profile=run["profile"],
        version=run["version"],
        identity=run["identity"],
        settings_hash=run["settings_hash"],
        request=run["request"],
        settings={name: SettingValue(**setting) for name, setting in run["settings"].items()},
        jobs=tuple(map(_job, rows.jobs)),
        indexes=tuple(IndexIdentity(**dict(row)) for row in rows.indexes),
        failures=rows.failures,
        attempts=tuple(AttemptTime(**dict(row)) for row in rows.attempts),
        stage_calls=rows.stage_calls,
        retried=rows.retried,
        copied=rows.copied,
        telemetry=tuple(OutputTelemetry(**dict(row)) for row in rows.telemetry),
        calls=tuple(CallCount(job_id=job_id, paid=n.paid, reused=n.reused) for job_id, n in rows.calls.items()),
        origin=rows.origin,
        siblings=rows.siblings,
    )


async def reference_outputs(
    connection: Connection, run_id: int
) -> list[tuple[RankedReferences, ValidatedReferences, ParticipantScores | None]]:
    """What stages `rerank`, `validate` and `score` stored of each job of a run that is validated."""
    return [
        (
            RankedReferences.model_validate(row["ranked"]),
            ValidatedReferences.model_validate(row["validated"]),
            None if row["scores"] is None else ParticipantScores.model_validate(row["scores"]),
        )
        for row in await connection.fetch(REFERENCES, run_id)
    ]


def _job(row: Mapping[str, Any]) -> ScoredJob:
    outputs = {
        name: None if row[name] is None else output.model_validate(row[name]) for name, output in _OUTPUTS.items()
    }
    return ScoredJob(**{**row, **outputs})
