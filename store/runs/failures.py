"""What went wrong in a run: failed and lost attempts, and extractions without any quote of the transcript."""

from collections import Counter
from collections.abc import Sequence

from schemas.values.runs import FailedAttempt, StageFailure
from store.database import Connection

# What a stage says of a document does not name its file: that name is in Postgres alone.
NAMED_MESSAGE = "CASE WHEN j.kind = 'work' THEN concat(j.inputs ->> 'name', ': ') ELSE '' END || a.error_message"

# A reply that could not be used is rejected, and the purpose of its call names the item that was asked about.
FAILED = f"""
SELECT a.job_id, j.mode, j.subject, a.stage, a.number AS attempt, a.error_type AS type,
       {NAMED_MESSAGE} AS message, a.error_category AS category, a.ended_at, s.status = 'done' AS is_resolved,
       s.status = 'failed' AND s.attempts = a.number AND j.status IN ('failed', 'poisoned') AS is_final,
       (SELECT substring(u.purpose FROM 'PHQ8_[A-Za-z]+')
        FROM llm_call_use AS u JOIN llm_call AS c ON c.id = u.call_id
        WHERE u.attempt_id = a.id AND c.rejected_at IS NOT NULL ORDER BY u.ordinal DESC LIMIT 1) AS evidence_key
FROM stage_attempt AS a
JOIN job AS j ON j.id = a.job_id
JOIN stage_run AS s ON s.job_id = a.job_id AND s.stage = a.stage
WHERE j.run_id = $1 AND a.outcome IN ('failed', 'interrupted')
  AND coalesce(a.error_category, '') NOT IN ('llm_limit', 'cancelled')
ORDER BY a.ended_at, a.id
"""

# None of the quotes is in the transcript; the job went on without any.
HALLUCINATED = """
SELECT a.job_id, j.mode, j.subject, a.stage, a.number AS attempt, NULL AS type,
       concat('None of ', (SELECT sum(r.value::integer) FROM jsonb_each(a.output -> 'rejected') AS r),
              ' extracted quotes is in the transcript; the job continued without any.') AS message,
       'evidence_hallucination' AS category, a.ended_at, false AS is_resolved, false AS is_final, NULL AS evidence_key
FROM job AS j JOIN current_attempt AS a ON a.job_id = j.id AND a.status = 'done'
WHERE j.run_id = $1 AND a.stage = 'extract' AND a.output -> 'rejected' <> '{}'
  AND NOT EXISTS (SELECT FROM jsonb_each(a.output -> 'quotes') AS q WHERE jsonb_array_length(q.value) > 0)
ORDER BY a.ended_at, a.attempt_id
"""


LAST = f"""
SELECT DISTINCT ON (a.job_id) a.job_id, a.stage, a.number AS attempt, a.error_type AS type,
       {NAMED_MESSAGE} AS message, a.error_category AS category
FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE ($1::bigint IS NULL OR j.run_id = $1) AND ($2::bigint[] IS NULL OR j.id = ANY($2))
  AND j.status IN ('failed', 'poisoned', 'interrupted') AND a.error_type IS NOT NULL
  AND a.error_category IS DISTINCT FROM 'llm_limit'
ORDER BY a.job_id, a.id DESC
"""


async def last_failures(
    connection: Connection, *, run_id: int | None = None, job_ids: Sequence[int] | None = None
) -> dict[int, StageFailure]:
    """The last error of each job that did not succeed, by job: of a run, of some jobs, or of some jobs of a run."""
    rows = [dict(row) for row in await connection.fetch(LAST, run_id, job_ids)]
    return {row.pop("job_id"): StageFailure(**row) for row in rows}


async def run_failures(connection: Connection, run_id: int) -> tuple[FailedAttempt, ...]:
    """Everything that went wrong in a run: failed attempts in order of time, then extractions without a true quote."""
    rows = [*await connection.fetch(FAILED, run_id), *await connection.fetch(HALLUCINATED, run_id)]
    return tuple(FailedAttempt(**dict(row)) for row in rows)


async def final_categories(connection: Connection, run_id: int) -> dict[str, int]:
    """How many jobs of a run ended with an error of each category, the most frequent first."""
    failed = await connection.fetch(FAILED, run_id)
    return dict(Counter(row["category"] for row in failed if row["is_final"]).most_common())


FINAL = """
SELECT j.id FROM job AS j JOIN stage_run AS s ON s.job_id = j.id AND s.status = 'failed'
JOIN stage_attempt AS a ON a.job_id = s.job_id AND a.stage = s.stage AND a.number = s.attempts
WHERE j.run_id = $1 AND j.status IN ('failed', 'poisoned') AND ($2::text IS NULL OR a.stage = $2)
  AND ($3::text IS NULL OR a.error_type = $3 OR a.error_type LIKE '%.' || $3 OR a.error_category = $3)
ORDER BY j.id
"""


async def failed_jobs(
    connection: Connection, run_id: int, *, stage: str | None = None, error_type: str | None = None
) -> list[int]:
    """The jobs of a run that ended with such a failure. `error_type` is the class of an exception, with or without its
    module, or a category."""
    return [row["id"] for row in await connection.fetch(FINAL, run_id, stage, error_type)]
