"""The ledger of language model calls: paid once, found again by key.

The key is a hash over everything that can change the answer: backend, server, model, its digest or else its entry in
the server's list of models, messages, options, schema, sample number, the run's draw and the log-probabilities asked
for. A reply that a stage could not use is rejected: it stays readable and is never reused.

Rows without `served_by` were paid for before servers were kept. Such an answer may be another server's, so only the
runs that used it before find it again, and only with a digest.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from store.database import Connection
from store.runs.chain import content_hash

FIND = """
SELECT id, reply AS text, digest, stop_reason, prompt_tokens, reply_tokens, seconds, tokens FROM llm_call
WHERE key = $1 AND rejected_at IS NULL
"""

FIND_OLD = """
SELECT c.id, c.reply AS text, c.digest, c.stop_reason, c.prompt_tokens, c.reply_tokens, c.seconds, c.tokens
FROM llm_call AS c
WHERE c.key = $1 AND c.rejected_at IS NULL AND c.served_by IS NULL AND c.digest <> '' AND EXISTS (
    SELECT FROM llm_call_use AS u JOIN stage_attempt AS a ON a.id = u.attempt_id JOIN job AS j ON j.id = a.job_id
    WHERE u.call_id = c.id AND j.run_id = $2
)
"""

KEEP = """
INSERT INTO llm_call
    (key, model, digest, request, reply, stop_reason, prompt_tokens, reply_tokens, seconds, tokens, served_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (key) WHERE rejected_at IS NULL DO NOTHING
RETURNING id
"""

USE = """
INSERT INTO llm_call_use (attempt_id, ordinal, call_id, purpose, is_reused)
SELECT $1, count(*), $2, $3, $4 FROM llm_call_use WHERE attempt_id = $1
"""

REJECT_LAST = """
UPDATE llm_call SET rejected_at = now()
WHERE id IN (SELECT call_id FROM llm_call_use WHERE attempt_id = $1 ORDER BY ordinal DESC LIMIT $2)
  AND rejected_at IS NULL
"""

USES = """
SELECT u.attempt_id, u.ordinal, u.purpose, u.is_reused, c.id AS call_id, c.model, c.digest, c.request, c.reply,
       c.stop_reason, c.prompt_tokens, c.reply_tokens, c.seconds, c.tokens, c.created_at, c.rejected_at,
       c.served_by, paid.run_id AS paid_by_run
FROM llm_call_use AS u JOIN llm_call AS c ON c.id = u.call_id
LEFT JOIN LATERAL (
    SELECT j.run_id
    FROM llm_call_use AS p JOIN stage_attempt AS a ON a.id = p.attempt_id JOIN job AS j ON j.id = a.job_id
    WHERE p.call_id = c.id AND NOT p.is_reused ORDER BY p.attempt_id LIMIT 1
) AS paid ON true
WHERE u.attempt_id = ANY($1::bigint[]) ORDER BY u.attempt_id, u.ordinal
"""

COUNTS = """
SELECT a.job_id, count(*) FILTER (WHERE NOT u.is_reused) AS paid, count(*) FILTER (WHERE u.is_reused) AS reused
FROM llm_call_use AS u JOIN stage_attempt AS a ON a.id = u.attempt_id JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND ($2::bigint[] IS NULL OR j.id = ANY($2)) GROUP BY a.job_id
"""


class KeptCall(NamedTuple):
    """An answered call in the ledger."""

    call_id: int
    reply: ChatReply


@dataclass(frozen=True, kw_only=True)
class CallUse:
    """A call as an attempt made it, with request and reply."""

    ordinal: int
    """Its place among the calls of the attempt, from 0."""
    purpose: str
    is_reused: bool
    """The ledger answered: nothing was paid."""
    call_id: int
    model: str
    digest: str
    request: dict[str, Any] = field(repr=False)
    reply: str = field(repr=False)
    stop_reason: str
    prompt_tokens: int | None
    reply_tokens: int | None
    seconds: float
    """Of the one that was paid for."""
    tokens: dict[str, Any] | None = field(repr=False)
    """The signals of the reply's tokens, where they were asked for."""
    created_at: datetime
    rejected_at: datetime | None
    served_by: dict[str, Any] | None
    """The identity of the model that answered; None for an answer that is older than its record."""
    paid_by_run: int | None
    """The run that paid for the answer; None when that run is deleted."""

    @property
    def draw(self) -> int:
        """The draw that the answer belongs to."""
        found: int = self.request.get("draw", 0)
        return found

    @property
    def server(self) -> str | None:
        """The server that answered, where it is known."""
        return None if self.served_by is None else str(self.served_by["server"])

    @property
    def origin(self) -> str:
        """Where the answer comes from: `new`, or `reused from r3`, with the draw of the run."""
        words = "new"
        if self.is_reused:
            words = "reused" if self.paid_by_run is None else f"reused from r{self.paid_by_run}"
        return f"{words}, draw {self.draw}" if self.draw else words

    @property
    def is_rejected(self) -> bool:
        """No stage could use the reply; it is never reused."""
        return self.rejected_at is not None

    @property
    def messages(self) -> list[dict[str, str]]:
        """What the model was asked."""
        messages: list[dict[str, str]] = self.request["messages"]
        return messages


class CallCounts(NamedTuple):
    """How many calls a job's attempts made, and how many of them were answered from the ledger."""

    paid: int
    reused: int


def call_key(call: ChatCall, served_by: ModelIdentity) -> str:
    """The key of a call: the same for two calls exactly when their answers may be exchanged."""
    return content_hash({"served_by": served_by.key, "call": _identity(call)})


def old_key(call: ChatCall, digest: str) -> str:
    """The key of a call in rows without `served_by`."""
    return content_hash({"digest": digest, "call": _identity(call)})


async def find(connection: Connection, key: str) -> KeptCall | None:
    """The kept answer, or None."""
    return _kept(await connection.fetchrow(FIND, key))


async def find_old(connection: Connection, key: str, run_id: int) -> KeptCall | None:
    """The answer of a row without `served_by`, by its `old_key`, if this run used it before; or None."""
    return _kept(await connection.fetchrow(FIND_OLD, key, run_id))


async def keep(
    connection: Connection, key: str, call: ChatCall, reply: ChatReply, served_by: ModelIdentity
) -> KeptCall:
    """Store an answer. When another worker stored one first, that one counts, so that all see the same."""
    call_id = await connection.fetchval(
        KEEP,
        key,
        call.model,
        reply.digest,
        json.dumps(_identity(call)),
        reply.text,
        reply.stop_reason,
        reply.prompt_tokens,
        reply.reply_tokens,
        reply.seconds,
        None if reply.tokens is None else reply.tokens.model_dump_json(),
        served_by.model_dump_json(),
    )
    if call_id is not None:
        return KeptCall(call_id, reply)
    found = await find(connection, key)
    return found if found is not None else await keep(connection, key, call, reply, served_by)


async def use(connection: Connection, attempt_id: int, call_id: int, purpose: str, *, is_reused: bool) -> None:
    """Note that an attempt asked for a call, after those it asked for before."""
    await connection.execute(USE, attempt_id, call_id, purpose, is_reused)


async def reject_last(connection: Connection, attempt_id: int, calls: int = 1) -> None:
    """Never reuse the replies to the attempt's last calls; nothing happens when it made none."""
    await connection.execute(REJECT_LAST, attempt_id, calls)


async def uses(connection: Connection, attempt_ids: Sequence[int]) -> dict[int, list[CallUse]]:
    """Every call that each of these attempts made, by its id, in order."""
    found: dict[int, list[CallUse]] = {attempt_id: [] for attempt_id in attempt_ids}
    for row in await connection.fetch(USES, list(attempt_ids)):
        values = dict(row)
        found[values.pop("attempt_id")].append(CallUse(**values))
    return found


async def counts(connection: Connection, run_id: int, *, job_ids: Sequence[int] | None = None) -> dict[int, CallCounts]:
    """Paid and reused calls per job of a run, or of its named jobs; jobs without calls are absent."""
    rows = await connection.fetch(COUNTS, run_id, job_ids)
    return {row["job_id"]: CallCounts(row["paid"], row["reused"]) for row in rows}


def _identity(call: ChatCall) -> dict[str, Any]:
    identity = call.model_dump(mode="json", exclude={"timeout_s", "purpose"})
    if not call.top_logprobs:
        # Calls that ask for none keep the key that they had before anybody could.
        del identity["top_logprobs"]
    if not call.draw:
        # Likewise the first draw.
        del identity["draw"]
    return identity


def _kept(row: Mapping[str, Any] | None) -> KeptCall | None:
    if row is None:
        return None
    values = dict(row)
    return KeptCall(values.pop("id"), ChatReply(model="", **values))
