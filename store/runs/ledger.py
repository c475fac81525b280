"""The ledger of language model calls: paid once, found again by key.

The key is a hash over everything that can change the answer: backend, server, model, its digest or else its entry in
the server's list of models, messages, options, schema, sample number, the run's draw and the log-probabilities asked
for. A reply that a stage could not use is rejected: it stays readable and is never reused.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from store.database import Connection
from store.runs.chain import content_hash

FIND = """
SELECT id, reply AS text, digest, stop_reason, prompt_tokens, reply_tokens, seconds, tokens FROM llm_call
WHERE key = $1 AND rejected_at IS NULL
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


class KeptCall(NamedTuple):
    """An answered call in the ledger."""

    call_id: int
    reply: ChatReply


def call_key(call: ChatCall, served_by: ModelIdentity) -> str:
    """The key of a call: the same for two calls exactly when their answers may be exchanged."""
    return content_hash({"served_by": served_by.key, "call": _identity(call)})


async def find(connection: Connection, key: str) -> KeptCall | None:
    """The kept answer, or None."""
    return _kept(await connection.fetchrow(FIND, key))


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
        json.dumps(asdict(served_by)),
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


def _identity(call: ChatCall) -> dict[str, Any]:
    return call.model_dump(mode="json", exclude={"timeout_s", "purpose"})


def _kept(row: Mapping[str, Any] | None) -> KeptCall | None:
    if row is None:
        return None
    values = dict(row)
    return KeptCall(values.pop("id"), ChatReply(model="", **values))
