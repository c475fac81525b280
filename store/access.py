"""Who may use the API: tokens, sessions, and keys by which a repeated request creates nothing twice."""

import hashlib
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from schemas.errors import Refused
from schemas.values.base import Value
from store import rows
from store.database import Connection, Lock, hold

PREFIX: Final = "ragq_"
"""How every token starts, so that one is recognised where it should not be."""

# A name that starts with a digit could be taken for an id.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._@-]{0,63}")

LIVE = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())"

COLUMNS = f"id, name, scope, created_at, expires_at, used_at, revoked_at, {LIVE} AS is_live"

CREATE = f"""
INSERT INTO api_token (name, token_hash, scope, expires_at)
SELECT $1::text, $2, $3::text, now() + $4::interval
WHERE NOT EXISTS (SELECT FROM api_token WHERE name = $1::text AND {LIVE})
RETURNING {COLUMNS}
"""

REVOKE = f"""
WITH revoked AS (
    UPDATE api_token SET revoked_at = now() WHERE (name = $1 OR id = $2) AND revoked_at IS NULL RETURNING {COLUMNS}
), ended AS (
    DELETE FROM api_session AS s USING revoked AS r WHERE s.token_id = r.id
)
SELECT * FROM revoked
"""


class Scope(StrEnum):
    """What a token may do."""

    #: Look, and change nothing.
    READ = "read"
    #: Everything.
    WRITE = "write"


class StoredToken(Value):
    """What is known of a token."""

    id: int
    name: str
    scope: Scope
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None
    """To the minute."""
    revoked_at: datetime | None
    is_live: bool
    """Neither revoked nor expired when it was read."""


async def create(
    connection: Connection, name: str, scope: Scope, *, lifetime: timedelta | None = None
) -> tuple[str, StoredToken]:
    """Make a token of 256 random bits: the secret, which is kept nowhere, and what is stored of it. Raises Refused for
    a name that a live token has, or that is none."""
    if not _NAME.fullmatch(name):
        raise Refused(
            "A token's name has 1 to 64 letters, digits, dots, dashes, underlines and at-signs, a letter first."
        )
    secret = PREFIX + new_secret()
    async with connection.transaction():
        # Of two that make one of a name at the same moment, the later one has to see the earlier one.
        await hold(connection, Lock.API_TOKENS)
        row = await connection.fetchrow(CREATE, name, hashed(secret), scope, lifetime)
    if row is None:
        raise Refused(f"There is a live token {name!r} already; `ragq token revoke {name}` ends it.")
    return secret, StoredToken(**row)


async def list_all(connection: Connection) -> list[StoredToken]:
    """Every token that was ever made, the oldest first."""
    return [StoredToken(**row) for row in await connection.fetch(f"SELECT {COLUMNS} FROM api_token ORDER BY id")]


async def revoke(connection: Connection, name_or_id: str) -> StoredToken:
    """End a token and every session that was opened with it. Raises Refused when no token of that name or id is left. A
    name means all tokens of that name, of which one at most is live. What is returned is the youngest."""
    number = int(name_or_id) if name_or_id.isdecimal() and len(name_or_id) < 19 else None
    revoked = [StoredToken(**row) for row in await connection.fetch(REVOKE, name_or_id, number)]
    if not revoked:
        raise Refused(f"No token {name_or_id!r} is left to revoke; `ragq token list` shows those there are.")
    return max(revoked, key=lambda token: token.id)


async def any_live(connection: Connection) -> bool:
    """Whether some token opens."""
    return bool(await connection.fetchval(f"SELECT EXISTS (SELECT FROM api_token WHERE {LIVE})"))


def new_secret() -> str:
    """256 random bits as text that needs no quoting in a header, a cookie or a shell."""
    return secrets.token_urlsafe(32)


def hashed(secret: str) -> str:
    """What is stored of a secret, and looked up: the time of the look-up reveals nothing about the secret. 256 random
    bits are not guessed, so nothing slower than SHA-256 is needed."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


# One row always: whose token or session it is, if anybody's, and whether there is any token that opens. Requests that
# come at once do not wait for each other to write the minute down.
RECOGNISE = f"""
WITH found AS (
    SELECT id, scope FROM api_token AS t WHERE {LIVE} AND (token_hash = $1 OR EXISTS (
        SELECT FROM api_session AS s WHERE s.token_id = t.id AND s.session_hash = $1 AND s.expires_at > now()
    ))
), stale AS (
    SELECT t.id FROM api_token AS t JOIN found ON found.id = t.id
    WHERE t.used_at IS NULL OR t.used_at < now() - interval '1 minute'
    FOR NO KEY UPDATE OF t SKIP LOCKED
), used AS (
    UPDATE api_token AS t SET used_at = now() FROM stale WHERE t.id = stale.id
)
SELECT found.id, found.scope, EXISTS (SELECT FROM api_token WHERE {LIVE}) AS any_live
FROM (SELECT) AS always LEFT JOIN found ON true
"""

OPEN = f"""
WITH swept AS (
    DELETE FROM api_session WHERE expires_at <= now()
)
INSERT INTO api_session (session_hash, token_id, expires_at)
SELECT $2, id, now() + $3::interval FROM api_token WHERE token_hash = $1 AND {LIVE}
RETURNING token_id
"""


async def recognise(connection: Connection, secret: str | None) -> tuple[int | None, Scope | None, bool]:
    """The token that a secret is, or with which a session of a browser was opened, and its scope; None for a secret
    that is unknown, expired or revoked, and without any. And whether there is a live token, so that requests need one.
    Notes the use of the token, once a minute."""
    row = await connection.fetchrow(RECOGNISE, None if secret is None else hashed(secret))
    return row["id"], None if row["id"] is None else Scope(row["scope"]), row["any_live"]


async def open_session(connection: Connection, secret: str, *, lifetime: timedelta) -> str | None:
    """What the cookie of a browser holds that showed a token; None when that token does not open. A session ends with
    its lifetime, and with its token. Those that have ended are swept away."""
    session = new_secret()
    return None if await connection.fetchval(OPEN, hashed(secret), hashed(session), lifetime) is None else session


async def end_session(connection: Connection, session: str) -> None:
    """Forget a browser."""
    await rows.delete(connection, "api_session", session_hash=hashed(session))


# A key belongs to the client that sent it and identifies one request. It is stored in the transaction that makes the
# thing: both are there, or neither. Keys are kept as hashes, and for a day.

# Waits for a transaction that holds the same key. A key that is taken already is not changed, and stays locked, so that
# it cannot be removed before it is read.
TAKE = """
INSERT INTO idempotency_key (principal, key_hash, request_hash, made) VALUES ($1, $2, $3, '{}')
ON CONFLICT (principal, key_hash) DO UPDATE SET request_hash = excluded.request_hash, created_at = now()
WHERE idempotency_key.created_at < now() - interval '24 hours'
RETURNING true
"""

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


async def once(
    connection: Connection, key: RequestKey | None, make: Callable[[Connection], Awaitable[Mapping[str, Any]]]
) -> tuple[dict[str, Any], bool]:
    """What `make` made, in the same transaction as the key, and True; what was made before when the key was used
    before, and False.

    `make` gives ids only. Without a key it always makes. When it raises, the key is free again. Of two requests with
    the same key at the same time the second waits for the first. Raises Refused for a key that
    identifies another request.
    """
    async with connection.transaction():
        if key is None:
            return dict(await make(connection)), True
        named = _named(key)
        if not await connection.fetchval(TAKE, *named.values(), key.request_hash):
            found = await rows.value(connection, "idempotency_key", "made", **named, request_hash=key.request_hash)
            if found is None:
                raise Refused(
                    "This idempotency key belongs to an earlier request that differs from this one; repeat that "
                    "request, or send this one with a new key.",
                    slug="idempotency-key-reused",
                )
            return found, False
        made = dict(await make(connection))
        await rows.update(connection, "idempotency_key", named, made=made)
        await connection.execute(FORGET)
    return made, True


async def release(connection: Connection, key: RequestKey | None) -> None:
    """Make a key usable again, because what its request made is gone."""
    if key is not None:
        await rows.delete(connection, "idempotency_key", **_named(key))


def _named(key: RequestKey) -> dict[str, str]:
    return {"principal": key.principal, "key_hash": hashlib.sha256(key.key.encode()).hexdigest()}
