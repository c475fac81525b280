"""What was made under which key, so that a request that is sent twice makes one thing.

A key belongs to the client that sent it and identifies one request. It is stored in the transaction that makes the
thing: both are there, or neither. Keys are kept as hashes, and for a day.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from schemas.errors import Refused
from store.database import Connection

# Waits for a transaction that holds the same key. A key that is taken already is not changed, and stays locked, so that
# it cannot be removed before it is read.
TAKE = """
INSERT INTO idempotency_key (principal, key_hash, request_hash, made) VALUES ($1, $2, $3, '{}')
ON CONFLICT (principal, key_hash) DO UPDATE SET request_hash = excluded.request_hash, created_at = now()
WHERE idempotency_key.created_at < now() - interval '24 hours'
RETURNING true
"""

FIND = "SELECT request_hash, made FROM idempotency_key WHERE principal = $1 AND key_hash = $2"

KEEP = "UPDATE idempotency_key SET made = $3 WHERE principal = $1 AND key_hash = $2"

RELEASE = "DELETE FROM idempotency_key WHERE principal = $1 AND key_hash = $2"

FORGET = """
DELETE FROM idempotency_key AS k USING (
    SELECT principal, key_hash FROM idempotency_key WHERE created_at < now() - interval '24 hours'
    LIMIT 100 FOR UPDATE SKIP LOCKED
) AS old
WHERE k.principal = old.principal AND k.key_hash = old.key_hash
"""


@dataclass(frozen=True, kw_only=True)
class RequestKey:
    """A client's key for one request."""

    principal: str
    """Whose key it is: `token:7`, or `open` where no authentication is needed."""
    key: str = field(repr=False)
    request_hash: str
    """SHA-256 in hex over method, path, query and body."""


class Once(NamedTuple):
    """What was made, now or before."""

    made: dict[str, Any]
    is_new: bool


async def once(
    connection: Connection, key: RequestKey | None, make: Callable[[Connection], Awaitable[Mapping[str, Any]]]
) -> Once:
    """What `make` made, in the same transaction as the key; what was made before when the key was used before.

    `make` gives ids only. Without a key it always makes. When it raises, the key is free again. Of two requests with
    the same key at the same time the second waits for the first. Raises Refused for a key that
    identifies another request.
    """
    async with connection.transaction():
        if key is None:
            return Once(dict(await make(connection)), True)
        named = _named(key)
        if not await connection.fetchval(TAKE, *named, key.request_hash):
            found = await connection.fetchrow(FIND, *named)
            if found["request_hash"] != key.request_hash:
                raise Refused(
                    "This idempotency key belongs to an earlier request that differs from this one; repeat that "
                    "request, or send this one with a new key.",
                    slug="idempotency-key-reused",
                )
            return Once(found["made"], False)
        made = dict(await make(connection))
        await connection.execute(KEEP, *named, json.dumps(made))
        await connection.execute(FORGET)
    return Once(made, True)


async def release(connection: Connection, key: RequestKey | None) -> None:
    """Make a key usable again, because what its request made is gone."""
    if key is not None:
        await connection.execute(RELEASE, *_named(key))


def _named(key: RequestKey) -> tuple[str, str]:
    return key.principal, hashlib.sha256(key.key.encode()).hexdigest()
