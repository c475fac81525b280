"""What holds at every moment, whatever broke: each query finds the rows that contradict it."""

import time
from typing import Final

from store.database import UNAVAILABLE_ERRORS
from tests.acceptance.fault_tolerance.breakable import BreakableInstallation

_DATABASE_S = 60.0

#: The seconds from a time until the first output that was stored after it.
NEXT_OUTPUT: Final = """
SELECT extract(epoch FROM min(ended_at))::float8 - $1 FROM stage_attempt
WHERE outcome = 'succeeded' AND ended_at > to_timestamp($1)
"""

VIOLATIONS: Final = {
    "a stage has two outputs": """
        SELECT job_id, stage FROM stage_attempt WHERE outcome = 'succeeded' GROUP BY job_id, stage HAVING count(*) > 1
    """,
    "a stage failed": """
        SELECT job_id, stage, outcome, error_type FROM stage_attempt
        WHERE outcome NOT IN ('running', 'succeeded', 'interrupted')
    """,
    "a stage is done and has no output": """
        SELECT job_id, stage FROM stage_run AS s WHERE status = 'done' AND NOT EXISTS (
            SELECT FROM stage_attempt AS a WHERE a.job_id = s.job_id AND a.stage = s.stage AND a.outcome = 'succeeded')
    """,
    "a stage has an output and is not done": """
        SELECT s.job_id, s.stage FROM stage_run AS s JOIN stage_attempt AS a USING (job_id, stage)
        WHERE a.outcome = 'succeeded' AND s.status <> 'done'
    """,
    "a stage began before the one before it ended": """
        SELECT s.job_id, s.stage FROM stage_run AS s JOIN stage_run AS b
        ON b.job_id = s.job_id AND b.position = s.position - 1 WHERE s.attempts > 0 AND b.status <> 'done'
    """,
    "a job ended before its stages": """
        SELECT id, status FROM job WHERE status = 'succeeded'
        AND EXISTS (SELECT FROM stage_run AS s WHERE s.job_id = job.id AND s.status <> 'done')
    """,
    "a job is in a state that no fault explains": """
        SELECT id, status FROM job WHERE status IN ('failed', 'poisoned', 'cancelled', 'paused')
    """,
    "a call of a model was stored twice": """
        SELECT key FROM llm_call WHERE rejected_at IS NULL GROUP BY key HAVING count(*) > 1
    """,
    "two attempts of a stage run": """
        SELECT job_id, stage FROM stage_attempt WHERE outcome = 'running' GROUP BY job_id, stage HAVING count(*) > 1
    """,
}


def violations(installation: BreakableInstallation) -> dict[str, list[dict[str, object]]]:
    """The rows that contradict an invariant; none. A database that recovers is waited for."""
    deadline = time.monotonic() + _DATABASE_S
    while True:
        try:
            found = {name: installation.rows(query) for name, query in VIOLATIONS.items()}
        except UNAVAILABLE_ERRORS:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return {name: rows for name, rows in found.items() if rows}
