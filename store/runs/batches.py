"""Calls of language models that are sent as batches, and the stages that wait for their answers.

A stage registers the calls that the ledger has no answer to, and is put off. Registered calls are gathered into
batches, which whoever claims one sends, looks at and collects. An answer goes into the ledger in the transaction that
deletes its call, so that it is stored once, whoever collects it again; then the stages are due that wait for no further
call.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple
from uuid import uuid4

from pydantic import Field

from schemas.errors import LLMError
from schemas.values.base import Value
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from stages.models import used_tokens
from stages.reports.words import counted
from store import rows
from store.database import Connection, Lock, hold
from store.runs import ledger
from store.runs.jobs import OPEN_JOBS
from store.runs.ledger import KeptCall
from store.runs.stages import Claim

#: A full batch waits for no further call.
MOST_CALLS: Final = 5_000
_MOST_BYTES: Final = 80_000_000


class Batch(Value):
    """A batch that is not over, as it is shown."""

    id: int = Field(examples=[3])
    server: str = Field(examples=["https://api.example.org/v1"])
    model: str = Field(examples=["small-model"])
    calls: int
    sent_at: datetime | None
    note: str | None
    """Why the provider was not reached the last time."""


class ClaimedBatch(NamedTuple):
    """A batch that this process takes a step further."""

    id: int
    name: str
    provider_id: str | None
    is_to_cancel: bool
    """It may take no longer, or the jobs of all its calls are cancelled or deleted."""
    created_s: float
    """When it was gathered, in seconds since 1970."""


class Registered(StrEnum):
    """What becomes of a call that the ledger has no answer to."""

    AWAITED = "awaited"
    """A batch is to bring the answer."""
    SINGLE = "single"
    """It is to be sent by itself."""
    TOO_MUCH = "too_much"
    """The limits of the run permit no further call."""


REGISTER: Final = """
INSERT INTO llm_batch_call (key, server, model, hours, call, served_by, is_single)
VALUES ($1, $2, $3, $4, $5, $6, false) ON CONFLICT (key) DO NOTHING RETURNING true
"""

# A call that waits counts as one that was sent; the row is locked, so that two stages see each other's.
PERMITTED: Final = """
SELECT coalesce(l.tokens < l.max_tokens, true) AND coalesce(l.llm_calls + (
    SELECT count(DISTINCT c.key) FROM llm_batch_call AS c
    JOIN llm_batch_stage AS s ON s.key = c.key JOIN job AS j ON j.id = s.job_id
    WHERE j.run_id = $1 AND NOT c.is_single AND c.error IS NULL
) < l.max_llm_calls, true)
FROM run_limit AS l WHERE l.run_id = $1 FOR UPDATE
"""

AWAIT: Final = "INSERT INTO llm_batch_stage (key, job_id, stage) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"

# A stage that fails because of one of its calls begins anew with all of them.
FORGET_REFUSED: Final = """
DELETE FROM llm_batch_call WHERE error IS NOT NULL
  AND (key = $1 OR key IN (SELECT key FROM llm_batch_stage WHERE job_id = $2 AND stage = $3))
"""

# Of cancelled and paused jobs nothing is sent.
_FREE: Final = f"""
FROM llm_batch_call AS c
WHERE batch_id IS NULL AND NOT is_single AND error IS NULL AND server = $1
  AND EXISTS (SELECT FROM llm_batch_stage AS s JOIN job AS j ON j.id = s.job_id
              WHERE s.key = c.key AND j.status IN {OPEN_JOBS})
"""

GATHERED: Final = f"""
SELECT model, hours {_FREE} GROUP BY model, hours
HAVING max(created_at) < now() - $2 * interval '1 second' OR count(*) >= $3
"""

FILL: Final = f"""
WITH free AS (
    SELECT key, sum(octet_length(call::text)) OVER (ORDER BY created_at, key) AS bytes,
           row_number() OVER (ORDER BY created_at, key) AS place
    {_FREE} AND model = $2 AND hours = $3
), taken AS (
    UPDATE llm_batch_call AS c SET batch_id = $4
    FROM free WHERE c.key = free.key AND (place = 1 OR (place <= $5 AND bytes <= $6)) RETURNING c.key
)
UPDATE llm_batch SET calls = (SELECT count(*) FROM taken) WHERE id = $4
"""

CLAIM: Final = """
UPDATE llm_batch
SET due_at = now() + CASE WHEN provider_id IS NULL THEN $2::float8 ELSE $3::float8 END * interval '1 second'
WHERE id = (
    SELECT id FROM llm_batch WHERE due_at <= now() AND server = $1 AND NOT id = ANY($4::bigint[])
    ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
)
RETURNING id, name, provider_id,
          coalesce(sent_at + hours * interval '1 hour' < now(), false) OR NOT EXISTS (
              SELECT FROM llm_batch_call AS c
              JOIN llm_batch_stage AS s ON s.key = c.key JOIN job AS j ON j.id = s.job_id
              WHERE c.batch_id = llm_batch.id AND j.status <> 'cancelled'
          ) AS is_to_cancel,
          extract(epoch FROM created_at)::float8 AS created_s
"""

CHANGE: Final = """
UPDATE llm_batch
SET provider_id = coalesce($2, provider_id), note = $3, due_at = now() + $4::float8 * interval '1 second',
    sent_at = CASE WHEN coalesce($2, provider_id) IS NOT NULL THEN coalesce(sent_at, now()) END
WHERE id = $1 AND ended_at IS NULL RETURNING true
"""

ANSWERED: Final = "DELETE FROM llm_batch_call WHERE key = $1 AND batch_id = $2 RETURNING call, served_by"

COUNT: Final = """
UPDATE run_limit SET llm_calls = llm_calls + 1, tokens = tokens + $2
WHERE run_id = (
    SELECT j.run_id FROM llm_batch_stage AS s JOIN job AS j ON j.id = s.job_id WHERE s.key = $1
    ORDER BY s.job_id LIMIT 1
)
"""

# A stage that is put off only after its answers came is found the next time.
RELEASE: Final = f"""
WITH free AS (
    SELECT DISTINCT job_id, stage FROM llm_batch_stage AS b
    WHERE NOT EXISTS (
        SELECT FROM llm_batch_stage AS s JOIN llm_batch_call AS c ON c.key = s.key
        WHERE s.job_id = b.job_id AND s.stage = b.stage AND NOT c.is_single AND c.error IS NULL
    )
), ready AS (
    UPDATE stage_run AS r SET not_before = now() FROM free
    WHERE r.job_id = free.job_id AND r.stage = free.stage AND r.status = 'ready' AND r.not_before > now()
    RETURNING r.job_id, r.stage
)
UPDATE job SET sent_at = NULL FROM ready WHERE job.id = ready.job_id AND job.status IN {OPEN_JOBS}
RETURNING job.id, pg_notify('ragq_due', job.run_id::text)
"""

# While a stage runs it may be put off still.
TOLD: Final = """
DELETE FROM llm_batch_stage AS s USING stage_run AS r
WHERE r.job_id = s.job_id AND r.stage = s.stage AND r.status <> 'running'
  AND NOT EXISTS (SELECT FROM llm_batch_call AS c WHERE c.key = s.key)
"""

# A run may be deleted while its calls wait. One that was sent is answered in vain.
FORGET_UNWANTED: Final = """
DELETE FROM llm_batch_call AS c
WHERE NOT EXISTS (SELECT FROM llm_batch_stage AS s WHERE s.key = c.key)
  AND (NOT is_single AND error IS NULL OR created_at < now() - (hours + 24) * interval '1 hour')
"""

OF_RUN: Final = f"""
SELECT {", ".join(Batch.model_fields)} FROM llm_batch
WHERE ended_at IS NULL
  AND id IN (SELECT c.batch_id FROM llm_batch_call AS c JOIN llm_batch_stage AS s ON s.key = c.key
             JOIN job AS j ON j.id = s.job_id WHERE j.run_id = $1)
ORDER BY id
"""


async def ask_for(connection: Connection, run_id: int, hours: float) -> None:
    """Let the calls of a run be sent as batches, each of which may take so long."""
    await rows.update(connection, "run", {"id": run_id}, batch_hours=hours)


async def hours(connection: Connection, run_id: int) -> float | None:
    """How long a batch of a run may take; None for a run whose calls are sent singly."""
    found: float | None = await rows.value(connection, "run", "batch_hours", id=run_id)
    return found


async def register(
    connection: Connection, claim: Claim, key: str, call: ChatCall, served_by: ModelIdentity, hours: float
) -> KeptCall | Registered:
    """Let a stage wait for the answer to a call, unless that is there, or no batch will bring it. Raises LLMError for a
    call whose batch was refused."""
    while True:
        async with connection.transaction():
            values = (call.model_dump_json(), served_by.model_dump_json())
            is_new = await connection.fetchval(REGISTER, key, served_by.server, call.model, hours, *values) is True
            row = await connection.fetchrow("SELECT is_single, error FROM llm_batch_call WHERE key = $1 FOR SHARE", key)
            # Whoever stores an answer deletes its call: where there is no call, or a new one, there may be an answer.
            if row is None or is_new:
                kept = await ledger.find(connection, key)
                if kept is not None:
                    await rows.delete(connection, "llm_batch_call", key=key)
                    return kept
            if is_new and await connection.fetchval(PERMITTED, claim.run_id) is False:
                await rows.delete(connection, "llm_batch_call", key=key)
                return Registered.TOO_MUCH
            if row is not None:
                if row["error"]:
                    await connection.execute(FORGET_REFUSED, key, claim.job_id, claim.stage)
                if row["is_single"] or row["error"]:
                    await rows.delete(connection, "llm_batch_stage", key=key, job_id=claim.job_id, stage=claim.stage)
                else:
                    await connection.execute(AWAIT, key, claim.job_id, claim.stage)
        if row is not None:
            if row["error"]:
                raise LLMError(row["error"])
            return Registered.SINGLE if row["is_single"] else Registered.AWAITED


async def forget(connection: Connection, key: str) -> None:
    """A call that was to be sent by itself has its answer."""
    await rows.delete(connection, "llm_batch_call", key=key, is_single=True)


async def gather(connection: Connection, server: str, *, quiet_s: float) -> int:
    """Make batches of the calls to a server that belong to none. How many."""
    made = 0
    async with connection.transaction():
        await hold(connection, Lock.BATCHES)
        for row in await connection.fetch(GATHERED, server, quiet_s, MOST_CALLS):
            of = {"server": server, **row}
            batch_id = await rows.insert(connection, "llm_batch", name=str(uuid4()), **of, calls=0, due_at=rows.NOW)
            await connection.execute(FILL, *of.values(), batch_id, MOST_CALLS, _MOST_BYTES)
            made += 1
    return made


async def claim(
    connection: Connection, server: str, *, begins_s: float, looks_s: float, other_than: Collection[int] = ()
) -> ClaimedBatch | None:
    """Take a batch that is due. Nobody else does so for as many seconds: for one that is to be sent, or is sent."""
    row = await connection.fetchrow(CLAIM, server, begins_s, looks_s, list(other_than))
    return None if row is None else ClaimedBatch(**dict(row))


async def calls(connection: Connection, batch_id: int) -> list[tuple[str, ChatCall]]:
    """The calls of a batch that have no answer, by key."""
    order = "created_at, key"
    asked = await rows.pairs(connection, "llm_batch_call", "key", "call", order=order, batch_id=batch_id)
    return [(key, ChatCall.model_validate(call)) for key, call in asked.items()]


async def change(
    connection: Connection,
    batch: ClaimedBatch,
    *,
    provider_id: str | None = None,
    note: str | None = None,
    again_in_s: float = 0.0,
) -> bool:
    """Store under which id the provider has a batch, and when it is looked at again. False when somebody else has ended
    it."""
    return await connection.fetchval(CHANGE, batch.id, provider_id, note, again_in_s) is not None


async def keep_answer(connection: Connection, batch: ClaimedBatch, key: str, reply: ChatReply) -> bool:
    """Store the answer to a call of a batch. False where it is stored already, or the call is of no such batch."""
    async with connection.transaction():
        row = await connection.fetchrow(ANSWERED, key, batch.id)
        if row is None:
            return False
        call, served_by = ChatCall.model_validate(row["call"]), ModelIdentity.model_validate(row["served_by"])
        await ledger.keep(connection, key, call, reply, served_by, is_batched=True)
        await connection.execute(COUNT, key, used_tokens(call, reply))
    return True


async def end(connection: Connection, batch: ClaimedBatch, *, refused: str | None = None) -> int:
    """End a batch. The calls without an answer are sent singly by who needs them, or fail them with `refused`. Returns
    how many have no answer; 0 when somebody else has ended it."""
    async with connection.transaction():
        unended = {"id": batch.id, "ended_at": None}
        if not await rows.update(connection, "llm_batch", unended, ended_at=rows.NOW, due_at=None):
            return 0
        if refused is not None:
            return await rows.update(connection, "llm_batch_call", {"batch_id": batch.id}, error=refused)
        return await rows.update(connection, "llm_batch_call", {"batch_id": batch.id, "error": None}, is_single=True)


async def release(connection: Connection) -> int:
    """Make the stages due that wait for no further answer, and forget calls that nobody waits for. How many jobs."""
    async with connection.transaction():
        due = await connection.fetch(RELEASE)
        await connection.execute(TOLD)
        await connection.execute(FORGET_UNWANTED)
    return len(due)


def batches_in_words(batches: Sequence[Batch]) -> list[str]:
    """What stages of a run wait for, a line each."""
    lines = []
    for of in batches:
        since = "to be sent" if of.sent_at is None else f"sent since {of.sent_at:%Y-%m-%d %H:%M} UTC"
        where = f"batch {of.id} of {counted(of.calls, 'call')} to {of.model} at {of.server}"
        lines.append(f"{where}: {since}" + (f" ({of.note})" if of.note else ""))
    return lines


async def of_run(connection: Connection, run_id: int) -> tuple[Batch, ...]:
    """The batches that stages of a run wait for."""
    return tuple(Batch(**dict(row)) for row in await connection.fetch(OF_RUN, run_id))
