"""How the outputs of a run were obtained: repairs, re-asks and texts that were cut."""

from schemas.values.scored_runs import OutputTelemetry
from store.database import Connection

TELEMETRY = """
SELECT a.job_id, a.stage, coalesce(a.output -> 'repairs', '[]') AS repairs,
       coalesce(a.output -> 'reasks', '[]') AS reasks, a.output -> 'cut_texts' AS cut_texts
FROM current_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND a.status = 'done' AND a.output ?| ARRAY['repairs', 'reasks', 'cut_texts']
ORDER BY j.ordinal, a.stage
"""


async def output_telemetry(connection: Connection, run_id: int) -> tuple[OutputTelemetry, ...]:
    """That of every output that counts and whose stage parses replies or embeds texts."""
    return tuple(OutputTelemetry(**dict(row)) for row in await connection.fetch(TELEMETRY, run_id))
