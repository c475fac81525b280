"""The item labels that a run is scored against."""

from typing import Any

from store.database import Connection

LABELS = """
SELECT DISTINCT j.subject::integer AS participant_id, p.items
FROM job AS j
JOIN stage_run AS s ON s.job_id = j.id AND s.stage = 'score'
LEFT JOIN participant AS p ON (p.data_set, p.id) = (j.inputs ->> 'data_set', j.subject::integer)
WHERE j.run_id = $1 AND j.kind = 'participant'
"""


async def of_run(connection: Connection, run_id: int) -> dict[int, dict[str, Any] | None]:
    """The stored item labels of the participants that a run scores; None for those without any."""
    return {row["participant_id"]: row["items"] for row in await connection.fetch(LABELS, run_id)}
