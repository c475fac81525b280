"""How a stage is claimed, held, stored and released.

Glossary of the statements below: *claim* takes a ready stage; *commit* stores its output and makes the next stage
ready; *fail* stores its error; *renew* keeps leases; *expire* takes stages back from workers whose lease ran out;
*give back* returns a stage of a worker that stops. All of them change rows only under the fence and the token of the
claim, so that a worker that lost its lease changes nothing. Times are the database's clock.

A claim need not wait for the disk: one that a crash of Postgres takes back leaves its stage ready. Another worker may
then claim it with the same fence and the same attempt, but not with the same token, which is random.
"""

import json
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray

from schemas.chains import asking_chains
from schemas.statuses import AttemptOutcome, StageStatus
from schemas.values.base import Value
from schemas.values.runs import AttemptError
from store.database import Connection, to_pgvector
from store.runs import backlog
from store.runs.chain import Link, content_hash
from store.runs.jobs import OPEN_JOBS

log = structlog.get_logger(__name__)

# The subquery reads the row as it was when the statement began, as everything beside the claimed row is read. A claim
# that waited while the job was edited would find a higher fence: it takes nothing, instead of old inputs and hashes.
# The edit sends a message of its own.
CLAIM = f"""
WITH claimed AS (
    UPDATE stage_run AS s
    SET status = 'running', fence = s.fence + 1, attempts = s.attempts + 1, worker_id = $3,
        lease_until = now() + $4 * interval '1 second', started_at = now(), finished_at = NULL, not_before = NULL,
        claim_token = $6
    FROM job AS j
    WHERE s.job_id = $1 AND s.stage = $2 AND s.status = 'ready' AND (s.not_before IS NULL OR s.not_before <= now())
      AND ($5::integer IS NULL OR s.interruptions < $5)
      AND s.fence = (SELECT fence FROM stage_run WHERE job_id = $1 AND stage = $2)
      AND j.id = s.job_id AND j.status IN {OPEN_JOBS}
    RETURNING s.job_id, s.stage, s.fence, s.attempts AS attempt, s.retries,
              j.run_id, j.kind, j.mode, j.subject, j.inputs
), attempt AS (
    INSERT INTO stage_attempt (job_id, stage, number, fence, worker_id, started_at, outcome)
    SELECT job_id, stage, attempt, fence, $3, now(), 'running' FROM claimed
    RETURNING id
), moved AS (
    UPDATE job SET status = 'running' FROM claimed
    WHERE job.id = claimed.job_id AND job.status IN ('waiting', 'interrupted')
)
SELECT claimed.*, attempt.id AS attempt_id,
       (SELECT settings_hash FROM run WHERE run.id = claimed.run_id) AS settings_hash,
       (SELECT hash FROM stage_attempt WHERE job_id = $1 AND hash IS NOT NULL ORDER BY id DESC LIMIT 1) AS previous_hash
FROM claimed, attempt
WHERE claimed.kind || '/' || claimed.mode = ANY($7::text[]) OR set_config('synchronous_commit', 'off', true) <> ''
"""

STATE = """
SELECT stage, position, status, attempts, fence, interruptions, coalesce(lease_until < now(), false) AS is_expired
FROM stage_run WHERE job_id = $1
"""

FORWARD = """
UPDATE stage_run AS next SET enq_at = now()
FROM stage_run AS this
WHERE this.job_id = $1 AND this.stage = $2 AND next.job_id = $1 AND next.position = this.position + 1
  AND next.status = 'ready' AND (next.not_before IS NULL OR next.not_before <= now())
  AND ($3 OR next.enq_at < now() - $4 * interval '1 second')
RETURNING next.stage
"""

COMMIT = """
WITH done AS (
    UPDATE stage_run SET status = 'done', finished_at = now(), lease_until = NULL, interruptions = 0, retries = 0,
        started_at = least(started_at + $14 * interval '1 second', now())
    WHERE job_id = $1 AND stage = $2 AND fence = $3 AND claim_token = $4 AND status = 'running'
    RETURNING job_id, position
), closed AS (
    UPDATE stage_attempt
    SET outcome = 'succeeded', ended_at = now(), inputs = $5, output = $6, output_hash = $7,
        previous_hash = $8, hash = $9,
        started_at = least(started_at + $14 * interval '1 second', now())
    FROM done WHERE stage_attempt.id = $13
), vectors AS (
    INSERT INTO stage_vector (attempt_id, ordinal, vector, text_key, is_cut)
    SELECT $13, v.ordinal - 1, v.vector, v.text_key, v.is_cut
    FROM done, unnest($10::vector[], $11::bytea[], $12::boolean[])
        WITH ORDINALITY AS v (vector, text_key, is_cut, ordinal)
), next AS (
    UPDATE stage_run AS s SET status = 'ready', enq_at = now(), enq_n = 0
    FROM done WHERE s.job_id = done.job_id AND s.position = done.position + 1 AND s.status = 'waiting'
    RETURNING s.stage
), finished AS (
    UPDATE job SET status = 'succeeded', finished_at = now()
    FROM done WHERE job.id = done.job_id AND job.status <> 'cancelled' AND NOT EXISTS (SELECT FROM next)
)
SELECT true FROM done
"""

STORED = """
SELECT 1 FROM stage_run WHERE job_id = $1 AND stage = $2 AND fence = $3 AND claim_token = $4 AND status = 'done'
"""

FAIL = """
WITH failed AS (
    UPDATE stage_run
    SET status = CASE WHEN $11::float8 IS NULL THEN 'failed' ELSE 'ready' END,
        lease_until = NULL, finished_at = now(), enq_at = NULL, enq_n = 0,
        retries = CASE WHEN $11::float8 IS NULL THEN retries ELSE retries + 1 END,
        not_before = now() + $11::float8 * interval '1 second',
        started_at = least(started_at + $14 * interval '1 second', now())
    WHERE job_id = $1 AND stage = $2 AND fence = $3 AND claim_token = $4 AND status = 'running'
    RETURNING job_id
), closed AS (
    UPDATE stage_attempt
    SET outcome = 'failed', ended_at = now(), inputs = $5, error_type = $6, error_message = $7, error_category = $8,
        error_details = $9, previous_hash = $10, hash = $12,
        started_at = least(started_at + $14 * interval '1 second', now())
    FROM failed WHERE stage_attempt.id = $13
), ended AS (
    UPDATE job
    SET status = CASE WHEN $11::float8 IS NULL THEN 'failed' ELSE 'waiting' END,
        finished_at = CASE WHEN $11::float8 IS NULL THEN now() END
    FROM failed
    WHERE job.id = failed.job_id AND job.status <> 'cancelled' AND (job.status <> 'paused' OR $11::float8 IS NULL)
)
SELECT 1 FROM failed
"""

# A locked row is being committed: it cannot be taken back, and waiting for it would let the other leases run out.
RENEW = """
WITH held AS (
    SELECT s.job_id, s.stage
    FROM unnest($1::bigint[], $2::text[], $3::integer[], $6::bigint[]) AS h (job_id, stage, fence, claim_token)
    JOIN stage_run AS s USING (job_id, stage, fence, claim_token)
    WHERE s.status = 'running'
    FOR UPDATE OF s SKIP LOCKED
), renewed AS (
    UPDATE stage_run AS s SET lease_until = now() + $4 * interval '1 second'
    FROM held WHERE s.job_id = held.job_id AND s.stage = held.stage
), seen AS (
    UPDATE worker SET seen_at = now() WHERE id = $5
)
SELECT id FROM job WHERE id = ANY($1::bigint[]) AND status = 'cancelled'
"""

# The row first, by its index: the rest is read for that one alone, however many stages there are.
EXPIRED = """
WITH expired AS MATERIALIZED (
    SELECT job_id, stage, attempts AS attempt, worker_id, interruptions FROM stage_run
    WHERE status = 'running' AND lease_until < now() AND ($1::bigint IS NULL OR job_id = $1)
    ORDER BY lease_until LIMIT 1
    FOR UPDATE SKIP LOCKED
)
SELECT s.*, j.run_id, r.settings_hash, a.id AS attempt_id,
       (SELECT hash FROM stage_attempt AS p WHERE p.job_id = s.job_id AND p.hash IS NOT NULL ORDER BY p.id DESC LIMIT 1)
           AS previous_hash
FROM expired AS s
JOIN job AS j ON j.id = s.job_id
JOIN run AS r ON r.id = j.run_id
JOIN stage_attempt AS a ON a.job_id = s.job_id AND a.stage = s.stage AND a.number = s.attempt
"""

INTERRUPT = f"""
WITH given_back AS (
    UPDATE stage_run
    SET status = CASE WHEN $3 THEN 'failed' ELSE 'ready' END, lease_until = NULL, enq_at = NULL, enq_n = 0,
        interruptions = interruptions + $9, finished_at = now()
    WHERE job_id = $1 AND stage = $2
), closed AS (
    UPDATE stage_attempt
    SET outcome = 'interrupted', ended_at = now(), error_type = $5, error_message = $6, error_category = $10,
        previous_hash = $7, hash = $8
    WHERE id = $4
)
UPDATE job
SET status = CASE WHEN $3 THEN 'poisoned' ELSE 'interrupted' END, finished_at = CASE WHEN $3 THEN now() END
WHERE id = $1 AND (status IN {OPEN_JOBS} OR (status = 'paused' AND $3))
"""

HELD = """
SELECT 1 FROM stage_run
WHERE job_id = $1 AND stage = $2 AND fence = $3 AND claim_token = $4 AND status = 'running' FOR UPDATE
"""


@dataclass(frozen=True, kw_only=True)
class OpenAttempt:
    """An attempt that is not closed, with what its link in the chain of hashes is computed from."""

    job_id: int
    stage: str
    attempt_id: int
    attempt: int
    """Number of this try, from 1."""
    settings_hash: str
    previous_hash: str | None

    def link(self, outcome: AttemptOutcome, **closing: Any) -> str:
        """The hash that closes it; `closing` are the other fields of the Link."""
        return Link(
            previous_hash=self.previous_hash,
            job_id=self.job_id,
            stage=self.stage,
            number=self.attempt,
            outcome=outcome,
            settings_hash=self.settings_hash,
            **closing,
        ).hash


@dataclass(frozen=True, kw_only=True)
class Claim(OpenAttempt):
    """A stage that this process holds, and what its job is about."""

    run_id: int
    kind: str
    mode: str
    subject: str
    inputs: dict[str, Any]
    fence: int
    token: int = field(repr=False)
    """Random: no other claim has it."""
    retries: int

    @property
    def key(self) -> tuple[str | int, ...]:
        """By which every statement finds its row, as long as no other claim has it."""
        return self.job_id, self.stage, self.fence, self.token


class StageState(Value):
    """The state of one stage of a chain."""

    stage: str
    position: int
    status: StageStatus
    attempts: int
    fence: int
    interruptions: int
    is_expired: bool


async def claim(
    connection: Connection,
    job_id: int,
    stage: str,
    worker_id: str,
    lease_s: float,
    *,
    interrupted_below: int | None = None,
) -> Claim | None:
    """Take a ready stage of an open job: fence and attempt rise, the lease starts. None when there is none to take.

    With `interrupted_below` only a stage is taken that was interrupted less often than that. The claim of a stage that
    asks a language model waits for the disk, because the calls are stored under the attempt before its commit: after a
    crash of Postgres that took a claim back, another attempt may have the same id.
    """
    token = secrets.randbits(63)
    asking = asking_chains(stage)
    row = await connection.fetchrow(CLAIM, job_id, stage, worker_id, lease_s, interrupted_below, token, asking)
    return None if row is None else Claim(**dict(row), token=token)


async def look(connection: Connection, job_id: int, stage: str) -> StageState | None:
    """The state of a stage; None when there is no such stage."""
    row = await connection.fetchrow(f"{STATE} AND stage = $2", job_id, stage)
    return None if row is None else StageState(**row)


async def forward(connection: Connection, job_id: int, stage: str, *, redelivered: bool, grace_s: float) -> str | None:
    """The next stage when the message for it may be missing, else None. That is so after a redelivery, and when the
    next stage has been ready for longer than the grace. Its clock restarts, so that of many copies of a message only
    one leads on."""
    name: str | None = await connection.fetchval(FORWARD, job_id, stage, redelivered, grace_s)
    return name


async def commit(
    connection: Connection,
    held: Claim,
    *,
    inputs: Mapping[str, Any],
    output: Mapping[str, Any],
    vectors: NDArray[np.float32] | None = None,
    effect: Callable[[Connection], Awaitable[object]] | None = None,
    texts: Sequence[tuple[bytes, bool]] = (),
    waited_s: float = 0.0,
) -> bool:
    """Store an output under the fence, all or nothing; False when another claim has a higher fence.

    `waited_s` is how long the attempt waited for others in its process: it began to work so much later.
    `texts` are those of the vectors, in their order, for vectors that may be found again by their text: a hash over the
    text, the model and its settings, and whether the model read only a part of the text.
    `effect` runs in the same transaction, after the output is stored. A commit that is repeated because its answer
    was lost finds its own token on a stage that is done, and counts as committed.
    """
    output_hash = content_hash(output, vectors)
    arguments = (
        *held.key,
        json.dumps(inputs),
        json.dumps(output),
        *(output_hash, held.previous_hash),
        held.link(AttemptOutcome.SUCCEEDED, inputs=inputs, output_hash=output_hash),
        [] if vectors is None else to_pgvector(vectors),
        [key for key, _ in texts],
        [is_cut for _, is_cut in texts],
        *(held.attempt_id, waited_s),
    )
    if effect is None:
        is_stored = await connection.fetchval(COMMIT, *arguments)
    else:
        async with connection.transaction():
            is_stored = await connection.fetchval(COMMIT, *arguments)
            if is_stored:
                await effect(connection)
    if not is_stored and await connection.fetchval(STORED, *held.key):
        await forward(connection, held.job_id, held.stage, redelivered=True, grace_s=0.0)
        return True
    return bool(is_stored)


async def fail(
    connection: Connection,
    held: Claim,
    error: AttemptError,
    *,
    inputs: Mapping[str, Any],
    retry_in_s: float | None = None,
    waited_s: float = 0.0,
) -> bool:
    """Store an error under the fence and end the job; with `retry_in_s` the stage is due again after those seconds.
    False when another claim has a higher fence: then nothing is stored."""
    link = held.link(AttemptOutcome.FAILED, inputs=inputs, error_type=error.type, error_message=error.message)
    stored = await connection.fetchval(
        FAIL,
        *held.key,
        json.dumps(inputs),
        *(error.type, error.message, error.category),
        json.dumps(error.details),
        *(held.previous_hash, retry_in_s, link),
        *(held.attempt_id, waited_s),
    )
    return stored is not None


async def renew(connection: Connection, worker_id: str, held: Sequence[Claim], lease_s: float) -> set[int]:
    """Renew every held lease and the worker's own sign of life. The jobs of them that are cancelled."""
    rows = await connection.fetch(
        RENEW,
        [claim.job_id for claim in held],
        [claim.stage for claim in held],
        [claim.fence for claim in held],
        lease_s,
        worker_id,
        [claim.token for claim in held],
    )
    return {row["id"] for row in rows}


async def expire(connection: Connection, *, max_interruptions: int, job_id: int | None = None) -> list[OpenAttempt]:
    """Take stages back whose lease has run out: ready again, or poisoned at the cap. Of one job, or of all. Each is
    taken in its own transaction, so that nothing is locked for long, nor two jobs at a time."""
    found: list[OpenAttempt] = []
    while True:
        async with connection.transaction():
            row = await connection.fetchrow(EXPIRED, job_id)
            if row is None:
                return found
            values = dict(row)
            run_id, worker_id, interruptions = (values.pop(name) for name in ("run_id", "worker_id", "interruptions"))
            lost, is_poisoned = OpenAttempt(**values), interruptions + 1 >= max_interruptions
            why = "stopped renewing its lease: it died, hung, was suspended or lost the database"
            await _interrupt(connection, lost, "WorkerLost", f"Worker {worker_id} {why}.", is_poisoned=is_poisoned)
        event = "stage_poisoned" if is_poisoned else "stage_interrupted"
        log.warning(event, job_id=lost.job_id, stage=lost.stage, attempt=lost.attempt, worker=worker_id)
        found.append(lost)
        if is_poisoned:
            await backlog.stop_failing(connection, run_id)


async def give_back(connection: Connection, held: Claim, *, is_cancelled: bool = False) -> bool:
    """End the attempt of a stage that is held: its worker is stopped, or its job cancelled. The stage is ready again,
    which nobody takes while its job is cancelled; this is no interruption that poisons. False when another claim has a
    higher fence, or the stage was stored: then nothing is changed."""
    stopped = "The worker was stopped before the stage was done; the stage starts again in another worker."
    why = ("WorkerStopped", stopped, "worker_lost")
    if is_cancelled:
        why = ("JobCancelled", "The job was cancelled before the stage was done.", "cancelled")
    async with connection.transaction():
        if await connection.fetchval(HELD, *held.key) is None:
            return False
        await _interrupt(connection, held, *why, is_counted=False)
    return True


async def _interrupt(
    connection: Connection,
    attempt: OpenAttempt,
    error_type: str,
    message: str,
    category: str = "worker_lost",
    *,
    is_poisoned: bool = False,
    is_counted: bool = True,
) -> None:
    await connection.execute(
        INTERRUPT,
        *(attempt.job_id, attempt.stage, is_poisoned, attempt.attempt_id, error_type, message, attempt.previous_hash),
        attempt.link(AttemptOutcome.INTERRUPTED, error_type=error_type, error_message=message),
        *(int(is_counted), category),
    )
