"""Reads the scores of a run's participants, without the rest of a report."""

from schemas.values.scored_runs import ScoredSubject
from schemas.values.scoring import ParticipantScores
from store.database import Connection

JOBS = """
SELECT j.id AS job_id, j.mode, j.subject::integer AS participant_id, j.status, a.output AS scores,
       coalesce(j.inputs -> 'ground_truth', p.items) AS labels
FROM job AS j
JOIN stage_run AS s ON s.job_id = j.id AND s.stage = 'score'
LEFT JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'score' AND a.status = 'done'
LEFT JOIN participant AS p ON p.id = j.subject::integer
WHERE j.run_id = $1 AND j.kind = 'participant'
ORDER BY j.ordinal
"""


async def scored_subjects(connection: Connection, run_id: int) -> list[ScoredSubject]:
    """The jobs of a run that score a participant, with their scores as far as there are any."""
    return [
        ScoredSubject(
            **{**row, "scores": None if row["scores"] is None else ParticipantScores.model_validate(row["scores"])}
        )
        for row in await connection.fetch(JOBS, run_id)
    ]
