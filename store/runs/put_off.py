"""A stage that is given back because it cannot continue here now: until a time, or until it is resumed.

An attempt that has not asked anything leaves no row: waiting is neither an interruption nor a failure. One that used
answers of the ledger is closed as interrupted, since it keeps what was paid.
"""

from schemas.statuses import AttemptOutcome, WaitReason
from store.database import Connection
from store.runs.chain import attempt_hash
from store.runs.stages import HELD, Claim

ERROR_TYPE = "LLMLimit"
CATEGORY = "llm_limit"

PUT_OFF = """
WITH attempt AS (
    SELECT id, EXISTS (SELECT FROM llm_call_use WHERE attempt_id = id) AS is_kept FROM stage_attempt WHERE id = $3
), closed AS (
    UPDATE stage_attempt AS a
    SET outcome = 'interrupted', ended_at = now(), error_type = $4, error_message = $5, error_category = $6,
        previous_hash = $7, hash = $8
    FROM attempt WHERE a.id = attempt.id AND attempt.is_kept
), dropped AS (
    DELETE FROM stage_attempt AS a USING attempt WHERE a.id = attempt.id AND NOT attempt.is_kept RETURNING a.id
)
UPDATE stage_run
SET status = 'ready', lease_until = NULL, enq_at = NULL, enq_n = 0, finished_at = now(),
    not_before = now() + $9::float8 * interval '1 second', attempts = attempts - (SELECT count(*) FROM dropped)
WHERE job_id = $1 AND stage = $2
"""

WAIT = """
INSERT INTO llm_wait AS w (job_id, stage, server, reason, since, until, refusals)
SELECT job_id, stage, $3, $4, now(), not_before, $5 FROM stage_run WHERE job_id = $1 AND stage = $2
ON CONFLICT (job_id, stage) DO UPDATE
SET server = EXCLUDED.server, reason = EXCLUDED.reason, until = EXCLUDED.until, refusals = EXCLUDED.refusals
"""

AGAIN = "UPDATE job SET status = 'waiting' WHERE id = $1 AND status = 'running'"

PAUSE = """
UPDATE job SET status = 'paused', note = $2 WHERE id = $1 AND status IN ('waiting', 'running', 'interrupted')
"""


async def wait(
    connection: Connection, held: Claim, *, server: str, reason: WaitReason, wait_s: float, refusals: int
) -> bool:
    """Make a stage that is held due again after some seconds. False when another claim has a higher fence."""
    async with connection.transaction():
        message = f"The stage waits for {server} ({reason}); it continues with the answers that are kept."
        if not await _put_off(connection, held, message, wait_s):
            return False
        await connection.execute(WAIT, held.job_id, held.stage, server, reason, refusals)
        await connection.execute(AGAIN, held.job_id)
    return True


async def pause(connection: Connection, held: Claim, note: str) -> bool:
    """Pause the job of a stage that is held; it is due when it is resumed. False as `wait`."""
    async with connection.transaction():
        if not await _put_off(connection, held, note, None):
            return False
        await connection.execute(PAUSE, held.job_id, note)
    return True


async def _put_off(connection: Connection, held: Claim, message: str, wait_s: float | None) -> bool:
    if await connection.fetchval(HELD, held.job_id, held.stage, held.fence, held.token) is None:
        return False
    link = attempt_hash(
        previous_hash=held.previous_hash,
        job_id=held.job_id,
        stage=held.stage,
        number=held.attempt,
        outcome=AttemptOutcome.INTERRUPTED,
        settings_hash=held.settings_hash,
        inputs=None,
        error_type=ERROR_TYPE,
        error_message=message,
    )
    await connection.execute(
        PUT_OFF,
        held.job_id,
        held.stage,
        held.attempt_id,
        ERROR_TYPE,
        message,
        CATEGORY,
        held.previous_hash,
        link,
        wait_s,
    )
    return True
