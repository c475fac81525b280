"""What attempts stored: current outputs, and the whole history."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from schemas.statuses import AttemptOutcome
from schemas.values.failures import AttemptError
from store.database import Connection

OUTPUT = """
SELECT attempt_id, output, output_hash FROM current_attempt
WHERE job_id = $1 AND stage = $2 AND status = 'done' AND output IS NOT NULL
"""

# What is private is not even read where it is not asked for.
HISTORY = """
SELECT a.id, a.job_id, a.stage, a.number, a.fence, a.worker_id, a.started_at, a.ended_at, a.outcome, a.inputs,
       CASE WHEN $4 THEN a.output END AS output, a.output_hash, a.previous_hash, a.hash,
       a.error_type, a.error_message, a.error_category, CASE WHEN $4 THEN a.error_details END AS error_details,
       w.host, w.pid, extract(epoch FROM coalesce(a.ended_at, now()) - a.started_at)::float8 AS seconds,
       (SELECT count(*) FROM stage_vector AS v WHERE v.attempt_id = a.id) AS vectors,
       a.database_s
FROM stage_attempt AS a LEFT JOIN worker AS w ON w.id = a.worker_id
WHERE a.job_id = $1 AND ($2::text IS NULL OR a.stage = $2) AND ($3::integer IS NULL OR a.number = $3)
ORDER BY a.id
"""


class Output(NamedTuple):
    """What the current successful attempt of a stage stored."""

    attempt_id: int
    value: dict[str, Any]
    hash: str


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One try of one stage."""

    id: int
    job_id: int
    stage: str
    number: int
    fence: int
    worker_id: str
    started_at: datetime
    ended_at: datetime | None
    outcome: AttemptOutcome
    inputs: dict[str, Any] | None
    output: dict[str, Any] | None = field(repr=False)
    output_hash: str | None
    previous_hash: str | None
    hash: str | None
    error_type: str | None
    error_message: str | None
    error_category: str | None
    error_details: dict[str, Any] | None = field(repr=False)
    """What must not be logged."""
    host: str | None
    pid: int | None
    seconds: float
    """Up to now while it runs."""
    vectors: int
    """How many it stored."""
    database_s: float | None = None
    """Seconds of its database calls, without its claim and the statement that closed it; None if not measured."""

    @property
    def copied_from(self) -> tuple[int, int] | None:
        """The job whose output it is a copy of, and the number of the attempt there."""
        source = (self.inputs or {}).get("from")
        return None if source is None else (source["job"], source["attempt"])

    @property
    def error(self) -> AttemptError | None:
        """How it failed."""
        if self.error_type is None or self.error_message is None or self.error_category is None:
            return None
        return AttemptError(self.error_type, self.error_message, self.error_category, self.error_details)


async def output(connection: Connection, job_id: int, stage: str) -> Output | None:
    """The output of a stage that is done; None when it is not, or when the output was purged."""
    row = await connection.fetchrow(OUTPUT, job_id, stage)
    return None if row is None else Output(row["attempt_id"], row["output"], row["output_hash"])


async def history(
    connection: Connection,
    job_id: int,
    stage: str | None = None,
    *,
    number: int | None = None,
    with_outputs: bool = True,
) -> list[Attempt]:
    """Every attempt of a job (or of one of its stages, or of one number), oldest first.

    Without outputs `output` and `error_details`, which hold text, are None.
    """
    rows = await connection.fetch(HISTORY, job_id, stage, number, with_outputs)
    return [Attempt(**{**row, "outcome": AttemptOutcome(row["outcome"])}) for row in rows]
