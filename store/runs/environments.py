"""The environments of processes: each distinct one is a row, which runs and workers refer to."""

import json
from dataclasses import asdict

from schemas.values.runs import Environment, RunEnvironment
from store.database import Connection
from store.runs.chain import content_hash

FIND = "SELECT id FROM environment WHERE hash = $1"

INSERT = "INSERT INTO environment (hash, content) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING"

SUBMITTER = "SELECT e.content FROM run AS r JOIN environment AS e ON e.id = r.environment_id WHERE r.id = $1"

WORKERS = """
SELECT e.content, count(*) AS stages
FROM job AS j
JOIN current_attempt AS c ON c.job_id = j.id AND c.status = 'done'
JOIN stage_attempt AS a ON a.id = c.attempt_id
JOIN worker AS w ON w.id = a.worker_id
JOIN environment AS e ON e.id = w.environment_id
WHERE j.run_id = $1 GROUP BY e.id ORDER BY count(*) DESC, e.hash
"""


async def keep(connection: Connection, environment: Environment) -> int:
    """The id of an environment, which is stored unless it is known."""
    content = asdict(environment)
    key = content_hash(content)
    found: int | None = await connection.fetchval(FIND, key)
    if found is None:
        await connection.execute(INSERT, key, json.dumps(content))
        found = await connection.fetchval(FIND, key)
        assert found is not None
    return found


async def of_submitter(connection: Connection, run_id: int) -> Environment | None:
    """Where a run was submitted; None where that was not recorded."""
    content = await connection.fetchval(SUBMITTER, run_id)
    return None if content is None else Environment.read(content)


async def of_workers(connection: Connection, run_id: int) -> list[RunEnvironment]:
    """The distinct environments in which the stored stages of a run were computed, most stages first."""
    return [
        RunEnvironment(stages=row["stages"], environment=Environment.read(row["content"]))
        for row in await connection.fetch(WORKERS, run_id)
    ]
