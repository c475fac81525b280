"""Where a run was submitted and computed, and which models and servers answered it."""

from schemas.values.environments import RunOrigin
from store.database import Connection
from store.runs import environments, run_models

SERVERS = """
SELECT DISTINCT c.served_by ->> 'server' AS server
FROM job AS j
JOIN stage_attempt AS a ON a.job_id = j.id
JOIN llm_call_use AS u ON u.attempt_id = a.id
JOIN llm_call AS c ON c.id = u.call_id
WHERE j.run_id = $1 AND c.served_by IS NOT NULL ORDER BY server
"""


async def run_origin(connection: Connection, run_id: int) -> RunOrigin:
    """The origin of a run. Runs that are older than its record have none."""
    return RunOrigin(
        submitter=await environments.of_submitter(connection, run_id),
        workers=tuple(await environments.of_workers(connection, run_id)),
        models=tuple(await run_models.frozen(connection, run_id)),
        servers=tuple(row["server"] for row in await connection.fetch(SERVERS, run_id)),
    )
