"""Where a run was submitted and computed, and which models and servers answered it."""

from schemas.values.environments import EmbeddedTexts, RunOrigin
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

EMBEDDED = """
SELECT a.output ->> 'dtype' AS dtype,
       sum((SELECT count(*) FROM stage_vector AS v WHERE v.attempt_id = a.attempt_id))::integer AS texts,
       sum((a.output ->> 'reused_texts')::integer)::integer AS reused
FROM job AS j JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'embed' AND a.status = 'done'
WHERE j.run_id = $1 AND a.output ->> 'reused_texts' IS NOT NULL
  AND EXISTS (SELECT FROM stage_vector AS v WHERE v.attempt_id = a.attempt_id)
GROUP BY a.output ->> 'dtype' ORDER BY dtype
"""


async def run_origin(connection: Connection, run_id: int) -> RunOrigin:
    """The origin of a run. Runs that are older than its record have none."""
    return RunOrigin(
        submitter=await environments.of_submitter(connection, run_id),
        workers=tuple(await environments.of_workers(connection, run_id)),
        models=tuple(await run_models.frozen(connection, run_id)),
        servers=tuple(row["server"] for row in await connection.fetch(SERVERS, run_id)),
        embedded=tuple(EmbeddedTexts(**dict(row)) for row in await connection.fetch(EMBEDDED, run_id)),
    )
