"""What attempts stored: current outputs, the whole history, and an audit of every stored byte."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas.statuses import AttemptOutcome
from schemas.values.failures import AttemptError
from store.database import Connection
from store.runs.chain import attempt_hash, content_hash
from store.vectors import to_matrix

OUTPUT = """
SELECT attempt_id, output, output_hash FROM current_attempt WHERE job_id = $1 AND stage = $2 AND status = 'done'
"""

VECTORS = "SELECT vector FROM stage_vector WHERE attempt_id = $1 ORDER BY ordinal"

# What is private is not even read where it is not asked for.
HISTORY = """
SELECT a.id, a.job_id, a.stage, a.number, a.fence, a.worker_id, a.started_at, a.ended_at, a.outcome, a.inputs,
       CASE WHEN $4 THEN a.output END AS output, a.output_hash, a.previous_hash, a.hash, a.error_type, a.error_message,
       a.error_category, CASE WHEN $4 THEN a.error_details END AS error_details,
       w.host, w.pid, extract(epoch FROM coalesce(a.ended_at, now()) - a.started_at)::float8 AS seconds,
       (SELECT count(*) FROM stage_vector AS v WHERE v.attempt_id = a.id) AS vectors
FROM stage_attempt AS a LEFT JOIN worker AS w ON w.id = a.worker_id
WHERE a.job_id = $1 AND ($2::text IS NULL OR a.stage = $2) AND ($3::integer IS NULL OR a.number = $3)
ORDER BY a.id
"""

LINKS = """
SELECT a.id, a.job_id, a.stage, a.number, a.outcome, a.inputs, a.output, a.output_hash, a.previous_hash, a.hash,
       a.error_type, a.error_message, r.settings_hash
FROM stage_attempt AS a
JOIN job AS j ON j.id = a.job_id
JOIN run AS r ON r.id = j.run_id
WHERE j.run_id = $1
ORDER BY a.job_id, a.id
"""


GONE = """
SELECT s.job_id, s.stage, s.attempts
FROM stage_run AS s JOIN job AS j ON j.id = s.job_id
LEFT JOIN stage_attempt AS a ON a.job_id = s.job_id AND a.stage = s.stage AND a.number = s.attempts
WHERE j.run_id = $1 AND s.attempts > 0 AND a.id IS NULL
ORDER BY s.job_id, s.position
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

    @property
    def error(self) -> AttemptError | None:
        """How it failed."""
        if self.error_type is None or self.error_message is None or self.error_category is None:
            return None
        return AttemptError(self.error_type, self.error_message, self.error_category, self.error_details)


class Flaw(NamedTuple):
    """A difference between a stored attempt and its hashes."""

    job_id: int
    stage: str
    number: int
    what: str


class Audit(NamedTuple):
    """The result of recomputing every hash of a run."""

    attempts: int
    flaws: list[Flaw]


async def output(connection: Connection, job_id: int, stage: str) -> Output | None:
    """The output of a stage that is done; None when it is not."""
    row = await connection.fetchrow(OUTPUT, job_id, stage)
    return None if row is None else Output(row["attempt_id"], row["output"], row["output_hash"])


async def vectors(connection: Connection, attempt_id: int) -> NDArray[np.float32]:
    """The vectors of an attempt, one row each in stored order; a matrix of zero rows when it stored none."""
    return to_matrix(row["vector"] for row in await connection.fetch(VECTORS, attempt_id))


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


async def audit(connection: Connection, run_id: int) -> Audit:
    """Recompute every hash of a run from the rows: outputs, vectors, and the chain from attempt to attempt."""
    rows = await connection.fetch(LINKS, run_id)
    flaws = [
        Flaw(row["job_id"], row["stage"], row["attempts"], "its attempt is gone")
        for row in await connection.fetch(GONE, run_id)
    ]
    previous: dict[int, str | None] = {}
    for row in rows:
        stored = None if row["output"] is None else content_hash(row["output"], await vectors(connection, row["id"]))
        flaws += [
            Flaw(row["job_id"], row["stage"], row["number"], what)
            for what in _differences(row, stored, previous.get(row["job_id"]))
        ]
        if row["hash"] is not None:
            previous[row["job_id"]] = row["hash"]
    return Audit(len(rows), flaws)


def _differences(row: Mapping[str, Any], stored_hash: str | None, previous_hash: str | None) -> Iterator[str]:
    if row["hash"] is None:
        if row["outcome"] != AttemptOutcome.RUNNING:
            yield "it is closed and carries no hash"
        return
    if row["output_hash"] != stored_hash:
        yield "its output or its vectors changed"
    if row["previous_hash"] != previous_hash:
        yield "the attempt before it changed, or is gone"
    link = attempt_hash(
        previous_hash=row["previous_hash"],
        job_id=row["job_id"],
        stage=row["stage"],
        number=row["number"],
        outcome=row["outcome"],
        settings_hash=row["settings_hash"],
        inputs=row["inputs"],
        output_hash=row["output_hash"],
        error_type=row["error_type"],
        error_message=row["error_message"],
    )
    if link != row["hash"]:
        yield "its outcome, inputs, settings or error changed"
