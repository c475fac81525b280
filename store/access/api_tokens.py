"""Tokens of the API. Each is shown once, when it is made; its hash alone is stored."""

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

from schemas.errors import Refused
from store.database import Connection

PREFIX: Final = "ragq_"
"""How every token starts, so that one is recognised where it should not be."""

_SECRET_BYTES = 32
# A name that starts with a digit could be taken for an id.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._@-]{0,63}")

LIVE = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())"

COLUMNS = f"id, name, scope, created_at, expires_at, used_at, revoked_at, {LIVE} AS is_live"

# Of two that make a token of one name at the same moment, the later one has to see the earlier one.
ONE_BY_ONE = "SELECT pg_advisory_xact_lock(hashtextextended('api_token', 0))"

CREATE = f"""
INSERT INTO api_token (name, token_hash, scope, expires_at)
SELECT $1::text, $2, $3::text, now() + $4::interval
WHERE NOT EXISTS (SELECT FROM api_token WHERE name = $1::text AND {LIVE})
RETURNING {COLUMNS}
"""

LIST = f"SELECT {COLUMNS} FROM api_token ORDER BY id"

REVOKE = f"""
WITH revoked AS (
    UPDATE api_token SET revoked_at = now() WHERE (name = $1 OR id = $2) AND revoked_at IS NULL RETURNING {COLUMNS}
), ended AS (
    DELETE FROM api_session AS s USING revoked AS r WHERE s.token_id = r.id
)
SELECT * FROM revoked
"""

ANY_LIVE = f"SELECT EXISTS (SELECT FROM api_token WHERE {LIVE})"

# Requests that come at once do not wait for each other to write the minute down.
BY_TOKEN = f"""
WITH stale AS (
    SELECT id FROM api_token
    WHERE token_hash = $1 AND {LIVE} AND (used_at IS NULL OR used_at < now() - interval '1 minute')
    FOR NO KEY UPDATE SKIP LOCKED
), used AS (
    UPDATE api_token AS t SET used_at = now() FROM stale WHERE t.id = stale.id
)
SELECT id, scope FROM api_token WHERE token_hash = $1 AND {LIVE}
"""


class Scope(StrEnum):
    """What a token may do."""

    #: Look, and change nothing.
    READ = "read"
    #: Everything.
    WRITE = "write"


@dataclass(frozen=True, kw_only=True)
class StoredToken:
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


class NewToken(NamedTuple):
    """A token that was made just now."""

    secret: str
    """Shown once, and kept nowhere."""
    stored: StoredToken


class Holder(NamedTuple):
    """The token that a request or a login was made with."""

    token_id: int
    scope: Scope


async def create(connection: Connection, name: str, scope: Scope, *, lifetime: timedelta | None = None) -> NewToken:
    """Make a token of 256 random bits. Raises Refused for a name that a live token has, or that is none."""
    if not _NAME.fullmatch(name):
        raise Refused(
            "A token's name has 1 to 64 letters, digits, dots, dashes, underlines and at-signs, a letter first."
        )
    secret = PREFIX + new_secret()
    async with connection.transaction():
        await connection.execute(ONE_BY_ONE)
        row = await connection.fetchrow(CREATE, name, hashed(secret), scope, lifetime)
    if row is None:
        raise Refused(f"There is a live token {name!r} already; `ragq token revoke {name}` ends it.")
    return NewToken(secret, _stored(row))


async def list_all(connection: Connection) -> list[StoredToken]:
    """Every token that was ever made, the oldest first."""
    return [_stored(row) for row in await connection.fetch(LIST)]


async def revoke(connection: Connection, name_or_id: str) -> StoredToken:
    """End a token and every session that was opened with it. Raises Refused when no token of that name or id is left.

    A name means all tokens of that name, of which one at most is live. What is returned is the youngest.
    """
    number = int(name_or_id) if name_or_id.isdecimal() and len(name_or_id) < 19 else None
    rows = [_stored(row) for row in await connection.fetch(REVOKE, name_or_id, number)]
    if not rows:
        raise Refused(f"No token {name_or_id!r} is left to revoke; `ragq token list` shows those there are.")
    return max(rows, key=lambda token: token.id)


async def any_live(connection: Connection) -> bool:
    """Whether some token opens."""
    found: bool = await connection.fetchval(ANY_LIVE)
    return found


async def holder_of_token(connection: Connection, secret: str) -> Holder | None:
    """Whose a token is; None for one that is unknown, expired or revoked. Notes its use, once a minute."""
    row = await connection.fetchrow(BY_TOKEN, hashed(secret))
    return None if row is None else Holder(row["id"], Scope(row["scope"]))


def new_secret() -> str:
    """256 random bits as text that needs no quoting in a header, a cookie or a shell."""
    return secrets.token_urlsafe(_SECRET_BYTES)


def hashed(secret: str) -> str:
    """What is stored of a secret, and looked up: the time of the look-up reveals nothing about the secret.

    256 random bits are not guessed, so nothing slower than SHA-256 is needed.
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _stored(row: Any) -> StoredToken:
    return StoredToken(**{**row, "scope": Scope(row["scope"])})
