"""Browsers that showed a token. What the cookie holds is not stored, its hash is."""

from datetime import timedelta
from typing import NamedTuple

from store.access.api_tokens import LIVE, Holder, Scope, hashed, new_secret
from store.database import Connection

# One row always: whose session it is, if anybody's, and whether there is any token that opens.
RECOGNISE = f"""
WITH found AS (
    SELECT t.id, t.scope FROM api_session AS s
    JOIN (SELECT id, scope FROM api_token WHERE {LIVE}) AS t ON t.id = s.token_id
    WHERE s.session_hash = $1 AND s.expires_at > now()
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

END = "DELETE FROM api_session WHERE session_hash = $1"


class Recognised(NamedTuple):
    """The session of a browser."""

    holder: Holder | None
    """None when it has no session, or one that has ended."""
    any_live: bool
    """There is a live token, so that requests need one."""


async def recognise(connection: Connection, session: str | None) -> Recognised:
    """Whose session a cookie holds, and whether anybody has to show a token at all; notes the token's use."""
    row = await connection.fetchrow(RECOGNISE, None if session is None else hashed(session))
    holder = None if row["id"] is None else Holder(row["id"], Scope(row["scope"]))
    return Recognised(holder, row["any_live"])


async def open_session(connection: Connection, secret: str, *, lifetime: timedelta) -> str | None:
    """What the cookie of a browser holds that showed a token; None when that token does not open.

    A session ends with its lifetime, and with its token. Those that have ended are swept away.
    """
    session = new_secret()
    opened = await connection.fetchval(OPEN, hashed(secret), hashed(session), lifetime)
    return None if opened is None else session


async def end_session(connection: Connection, session: str) -> None:
    """Forget a browser."""
    await connection.execute(END, hashed(session))
