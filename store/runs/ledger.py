"""The ledger of language model calls: paid once, found again by key.

The key is a hash over everything that can change the answer: backend, server, model, its digest or else its entry in
the server's list of models, messages, options, schema, sample number, the run's draw and the log-probabilities asked
for. A reply that a stage could not use is rejected: it stays readable and is never reused.
"""

import json
from typing import Any

from schemas.statuses import AttemptOutcome, WaitReason
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from store.database import Connection
from store.runs import backlog
from store.runs.chain import content_hash
from store.runs.jobs import OPEN_JOBS
from store.runs.stages import HELD, Claim

FIND = """
SELECT id, reply AS text, digest, stop_reason, prompt_tokens, reply_tokens, seconds, tokens FROM llm_call
WHERE key = $1 AND rejected_at IS NULL
"""

KEEP = """
INSERT INTO llm_call
    (key, model, digest, request, reply, stop_reason, prompt_tokens, reply_tokens, seconds, tokens, served_by,
     is_batched, is_fresh)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)
ON CONFLICT (key) WHERE rejected_at IS NULL DO NOTHING
RETURNING id
"""

# The first use of an answer that a batch brought has paid for it.
USE = """
WITH fresh AS (UPDATE llm_call SET is_fresh = false WHERE id = $2 AND is_fresh RETURNING id)
INSERT INTO llm_call_use (attempt_id, ordinal, call_id, purpose, is_reused)
SELECT $1, count(*), $2, $3, $4 AND NOT EXISTS (SELECT FROM fresh) FROM llm_call_use WHERE attempt_id = $1
"""

REJECT_LAST = """
UPDATE llm_call SET rejected_at = now()
WHERE id IN (SELECT call_id FROM llm_call_use WHERE attempt_id = $1 ORDER BY ordinal DESC LIMIT $2)
  AND rejected_at IS NULL
"""


KeptCall = tuple[int, ChatReply]
"""The id of an answered call in the ledger, and the answer."""


def call_key(call: ChatCall, served_by: ModelIdentity) -> str:
    """The key of a call: the same for two calls exactly when their answers may be exchanged."""
    return content_hash({"served_by": served_by.key, "call": _identity(call)})


async def find(connection: Connection, key: str) -> KeptCall | None:
    """The kept answer, or None."""
    row = await connection.fetchrow(FIND, key)
    if row is None:
        return None
    values = dict(row)
    return values.pop("id"), ChatReply(model="", **values)


async def keep(
    connection: Connection,
    key: str,
    call: ChatCall,
    reply: ChatReply,
    served_by: ModelIdentity,
    *,
    is_batched: bool = False,
) -> KeptCall:
    """Store an answer. When another worker stored one first, that one counts, so that all see the same."""
    call_id = await connection.fetchval(
        KEEP,
        *(key, call.model, reply.digest),
        json.dumps(_identity(call)),
        *(reply.text, reply.stop_reason, reply.prompt_tokens, reply.reply_tokens, reply.seconds),
        None if reply.tokens is None else reply.tokens.model_dump_json(),
        served_by.model_dump_json(),
        is_batched,
    )
    if call_id is not None:
        return call_id, reply
    found = await find(connection, key)
    return found if found is not None else await keep(connection, key, call, reply, served_by, is_batched=is_batched)


async def use(connection: Connection, attempt_id: int, call_id: int, purpose: str, *, is_reused: bool) -> None:
    """Note that an attempt asked for a call, after those it asked for before."""
    await connection.execute(USE, attempt_id, call_id, purpose, is_reused)


async def reject_last(connection: Connection, attempt_id: int, calls: int = 1) -> None:
    """Never reuse the replies to the attempt's last calls; nothing happens when it made none."""
    await connection.execute(REJECT_LAST, attempt_id, calls)


def _identity(call: ChatCall) -> dict[str, Any]:
    return call.model_dump(mode="json", exclude={"timeout_s", "purpose"})


OF = """
SELECT coalesce(w.refusals, 0) AS refusals, w.job_id IS NOT NULL AS has_waited,
       EXISTS (SELECT FROM run_limit WHERE run_id = $3 AND coalesce(max_llm_calls, max_tokens) IS NOT NULL)
           AS has_budget
FROM (SELECT) AS one LEFT JOIN llm_wait AS w ON w.job_id = $1 AND w.stage = $2
"""

BRING_FORWARD = f"""
WITH next AS (
    SELECT s.job_id, s.stage
    FROM llm_wait AS w JOIN stage_run AS s ON s.job_id = w.job_id AND s.stage = w.stage
    JOIN job AS j ON j.id = s.job_id AND j.status IN {OPEN_JOBS}
    WHERE w.server = $1 AND w.reason = 'calls'
      AND s.status = 'ready' AND s.not_before = w.until AND s.not_before > now()
    ORDER BY w.since LIMIT 1
    FOR UPDATE OF s SKIP LOCKED
), sooner AS (
    UPDATE stage_run AS s SET not_before = now()
    FROM next WHERE s.job_id = next.job_id AND s.stage = next.stage
    RETURNING s.job_id
)
UPDATE job SET sent_at = NULL FROM sooner WHERE job.id = sooner.job_id RETURNING pg_notify('ragq_due', job.run_id::text)
"""


async def of(connection: Connection, claim: Claim) -> tuple[int, bool, bool]:
    """What is known of a stage before it calls: how often its server refused it since its last answer; whether it was
    given back before, and has a row that `answered` deletes; and whether its run has a limit of calls or tokens."""
    refusals, has_waited, has_budget = await connection.fetchrow(OF, claim.job_id, claim.stage, claim.run_id)
    return refusals, has_waited, has_budget


async def bring_forward(connection: Connection, server: str) -> None:
    """Make the stage due that has waited for longest for calls of others to end."""
    await connection.execute(BRING_FORWARD, server)


async def answered(connection: Connection, claim: Claim, tokens: int) -> None:
    """The stage waits no more, and its run has used so many tokens."""
    await backlog.count(connection, claim.run_id, tokens=tokens)
    await connection.execute("DELETE FROM llm_wait WHERE job_id = $1 AND stage = $2", claim.job_id, claim.stage)


# An attempt that has not asked anything leaves no row: waiting is neither an interruption nor a failure. One that used
# answers of the ledger is closed as interrupted, since it keeps what was paid.

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

PAUSE = f"UPDATE job SET status = 'paused', note = $2 WHERE id = $1 AND status IN {OPEN_JOBS}"


async def wait(
    connection: Connection, held: Claim, *, server: str, reason: WaitReason, wait_s: float, refusals: int
) -> bool:
    """Make a stage that is held due again after some seconds. False when another claim has a higher fence."""
    async with connection.transaction():
        message = f"The stage waits for {server} ({reason}); it continues with the answers that are kept."
        if not await _put_off(connection, held, message, wait_s):
            return False
        await connection.execute(WAIT, held.job_id, held.stage, server, reason, refusals)
        await connection.execute("UPDATE job SET status = 'waiting' WHERE id = $1 AND status = 'running'", held.job_id)
    return True


async def pause(connection: Connection, held: Claim, note: str) -> bool:
    """Pause the job of a stage that is held; it is due when it is resumed. False as `wait`."""
    async with connection.transaction():
        if not await _put_off(connection, held, note, None):
            return False
        await connection.execute(PAUSE, held.job_id, note)
    return True


async def _put_off(connection: Connection, held: Claim, message: str, wait_s: float | None) -> bool:
    if await connection.fetchval(HELD, *held.key) is None:
        return False
    await connection.execute(
        PUT_OFF,
        *(held.job_id, held.stage, held.attempt_id, "LLMLimit", message, "llm_limit", held.previous_hash),
        held.link(AttemptOutcome.INTERRUPTED, error_type="LLMLimit", error_message=message),
        wait_s,
    )
    return True
