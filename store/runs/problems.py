"""What is wrong now, in all runs or one: what failed, what nobody works on, and what waits for a time or a person."""

from datetime import datetime
from enum import StrEnum
from typing import Final

from pydantic import Field, computed_field

from schemas.values.base import Value
from store.database import Connection
from store.runs.failures import NAMED_MESSAGE
from store.runs.jobs import OPEN_JOBS
from store.runs.workers import SEEN_WITHIN_SECONDS

#: A reaper takes a lease back within a second or two.
_LATE_SECONDS: Final = 10.0

_CATEGORY: Final = "coalesce(nullif(error_category, 'unknown'), error_type)"

# The first column orders the rows of the list.
PROBLEMS = f"""
WITH failing AS (
    SELECT j.run_id, a.stage, a.error_type, a.category, a.what, count(*) AS jobs, min(j.finished_at) AS since,
           (array_agg({NAMED_MESSAGE} ORDER BY a.id DESC))[1] AS message
    FROM job AS j CROSS JOIN LATERAL (
        SELECT id, stage, error_type, error_message, {_CATEGORY} AS category,
               CASE error_category WHEN 'nothing_relevant' THEN 'nothing_found' ELSE 'failed' END AS what
        FROM stage_attempt
        WHERE job_id = j.id AND error_type IS NOT NULL ORDER BY id DESC LIMIT 1
    ) AS a
    WHERE j.status IN ('failed', 'poisoned') AND ($4::bigint IS NULL OR j.run_id = $4) GROUP BY 1, 2, 3, 4, 5
), ready AS (
    SELECT j.id AS job_id, j.run_id, coalesce(s.queue, s.stage) AS queue, s.stage, j.sent_at,
           coalesce(s.enq_at, j.created_at) AS since
    FROM stage_run AS s JOIN job AS j ON j.id = s.job_id
    WHERE s.status = 'ready' AND j.status IN {OPEN_JOBS} AND ($4::bigint IS NULL OR j.run_id = $4)
), taken AS (
    SELECT DISTINCT unnest(stages) AS queue FROM worker WHERE seen_at > now() - $1 * interval '1 second'
)
SELECT 'no_worker' AS what, run_id, stage, count(*) AS jobs, min(since) AS since, NULL::timestamptz AS until,
       'No worker takes queue ' || queue || '.' AS reason
FROM ready WHERE queue NOT IN (SELECT queue FROM taken) GROUP BY run_id, stage, queue
UNION ALL
SELECT 'no_broker', run_id, stage, count(*), min(since), NULL, 'The broker does not answer.'
FROM ready WHERE $3 GROUP BY run_id, stage
UNION ALL
SELECT 'worker_lost', j.run_id, s.stage, count(*), min(s.lease_until), NULL,
       'The worker stopped renewing its lease, and no other worker has taken the stage back.'
FROM stage_run AS s JOIN job AS j ON j.id = s.job_id
WHERE s.status = 'running' AND s.lease_until < now() - $2 * interval '1 second'
  AND ($4::bigint IS NULL OR j.run_id = $4)
GROUP BY j.run_id, s.stage
UNION ALL
SELECT what, run_id, stage, jobs, since, NULL, category || ': ' || message FROM failing
UNION ALL
SELECT 'paused', run_id, NULL, count(*), NULL, NULL, note FROM job
WHERE status = 'paused' AND NOT EXISTS (SELECT FROM run WHERE id = job.run_id AND after_id IS NOT NULL)
  AND ($4::bigint IS NULL OR run_id = $4)
GROUP BY run_id, note
UNION ALL
SELECT 'waits', r.run_id, r.stage, count(*), min(r.since), min(r.sent_at), max(a.message)
FROM ready AS r LEFT JOIN LATERAL (
    SELECT {_CATEGORY} || ': ' || error_message AS message FROM stage_attempt
    WHERE job_id = r.job_id AND stage = r.stage AND error_type IS NOT NULL ORDER BY id DESC LIMIT 1
) AS a ON true
WHERE r.sent_at > now() AND r.queue IN (SELECT queue FROM taken)
  AND NOT EXISTS (SELECT FROM llm_batch_stage AS b WHERE b.job_id = r.job_id AND b.stage = r.stage)
GROUP BY r.run_id, r.stage
UNION ALL
SELECT 'waits', j.run_id, s.stage, count(DISTINCT j.id), min(coalesce(b.sent_at, b.created_at)), min(b.due_at),
       min('Batch ' || b.id || ': ' || b.note)
FROM llm_batch AS b JOIN llm_batch_call AS c ON c.batch_id = b.id JOIN llm_batch_stage AS s ON s.key = c.key
JOIN job AS j ON j.id = s.job_id
WHERE b.due_at IS NOT NULL AND b.note IS NOT NULL AND ($4::bigint IS NULL OR j.run_id = $4) GROUP BY j.run_id, s.stage
"""


class ProblemKind(StrEnum):
    """What is wrong, the most urgent first."""

    NO_WORKER = "no_worker"
    """No live worker takes the queue."""
    NO_BROKER = "no_broker"
    """No worker is told of what is ready."""
    WORKER_LOST = "worker_lost"
    """Its lease has expired, and nobody took the stage back."""
    FAILED = "failed"
    """Nothing runs by itself any more."""
    NOTHING_FOUND = "nothing_found"
    """The corpus has no answer, and would have none for a retry: the reason names what to change."""
    PAUSED = "paused"
    """Somebody, or a limit of the run, paused it."""
    WAITS = "waits"
    """It runs by itself at a time: after an error, or when a language model takes calls again or a provider's batch can
    be asked for."""


_REMEDIES: Final = {
    ProblemKind.NO_WORKER: "ragq worker --stages {stage}",
    ProblemKind.NO_BROKER: "ragq doctor",
    ProblemKind.WORKER_LOST: "ragq doctor",
    ProblemKind.FAILED: "ragq retry r{run_id} --stage {stage}",
    ProblemKind.NOTHING_FOUND: "ragq failures r{run_id}",
    ProblemKind.PAUSED: "ragq resume r{run_id}",
    ProblemKind.WAITS: "ragq watch r{run_id}",
}


class RunProblem(Value):
    """One thing that is wrong in a run now."""

    what: ProblemKind
    run_id: int = Field(examples=[12])
    stage: str | None = Field(examples=["rerank"])
    """Null where jobs of several stages are paused."""
    jobs: int = Field(examples=[3])
    since: datetime | None
    """The first of the jobs; null for paused ones, of which no time is kept."""
    until: datetime | None
    """When the first of the jobs runs by itself."""
    reason: str | None = Field(examples=["scoring_llm_timeout: The model did not answer within 60 s."])
    """Holds no text of a subject."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def remedy(self) -> str:
        """The command that helps, once the reason is removed."""
        return _REMEDIES[self.what].format(run_id=self.run_id, stage=self.stage)


async def problems(connection: Connection, *, is_broker_away: bool, of_run: int | None = None) -> list[RunProblem]:
    """Everything that is wrong now, or in one run: the most urgent kind first, and of each the newest run first."""
    rows = await connection.fetch(PROBLEMS, SEEN_WITHIN_SECONDS, _LATE_SECONDS, is_broker_away, of_run)
    found = [RunProblem(**row) for row in rows]
    return sorted(found, key=lambda one: ([*ProblemKind].index(one.what), -one.run_id, one.stage or ""))
