"""Who may ask over HTTP, what was asked for under which key, and who waits for changes."""

from datetime import datetime
from typing import Any

from schemas.tables import columns


class ApiTokenTable(columns.Row, table=True):
    """A token of the API. The token itself is shown once, when it is made, and kept nowhere."""

    id: int = columns.serial()
    name: str
    token_hash: str = columns.text(unique=True)
    """SHA-256 in hex; the token is 256 random bits, so nothing slower is needed."""
    scope: str
    """`read` or `write`."""
    created_at: datetime = columns.now()
    expires_at: datetime | None = columns.time()
    used_at: datetime | None = columns.time()
    """About when it was last used, to the minute."""
    revoked_at: datetime | None = columns.time()


class ApiSessionTable(columns.Row, table=True):
    """A browser that showed a token. It ends with its token."""

    session_hash: str = columns.text(primary_key=True)
    """SHA-256 in hex of what the cookie holds."""
    token_id: int = columns.reference("api_token.id")
    created_at: datetime = columns.now()
    expires_at: datetime | None = columns.time()


class IdempotencyKeyTable(columns.Row, table=True):
    """A request that made something, under the key that its client gave it: the same again makes nothing new."""

    principal: str = columns.text(primary_key=True)
    """Whose key it is: `token:7`, or `open` where no authentication is needed."""
    key_hash: str = columns.text(primary_key=True)
    request_hash: str
    """SHA-256 in hex over method, path, query and body."""
    made: dict[str, Any] = columns.json()
    """What was made, by ids."""
    created_at: datetime = columns.now()


class ChangeListenerTable(columns.Row, table=True):
    """One row, renewed while a process listens for changes: nothing is notified without it."""

    __table_args__ = ({"prefixes": ["UNLOGGED"]},)

    id: int = columns.long(primary_key=True)
    listened_at: datetime = columns.now()
