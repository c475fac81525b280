"""Who may ask over HTTP, what was asked for under which key, and who waits for changes."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Column, Text
from sqlmodel import Field, SQLModel

from schemas.tables.columns import id_column, json_column, now_column, reference_column, time_column


class ApiTokenTable(SQLModel, table=True):
    """A token of the API. The token itself is shown once, when it is made, and kept nowhere."""

    __tablename__ = "api_token"

    id: int | None = Field(default=None, sa_column=id_column())
    name: str
    token_hash: str = Field(sa_column=Column(Text, nullable=False, unique=True))
    """SHA-256 in hex; the token is 256 random bits, so nothing slower is needed."""
    scope: str
    """`read` or `write`."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    expires_at: datetime | None = Field(default=None, sa_column=time_column())
    used_at: datetime | None = Field(default=None, sa_column=time_column())
    """About when it was last used, to the minute."""
    revoked_at: datetime | None = Field(default=None, sa_column=time_column())


class ApiSessionTable(SQLModel, table=True):
    """A browser that showed a token. It ends with its token."""

    __tablename__ = "api_session"

    session_hash: str = Field(sa_column=Column(Text, primary_key=True))
    """SHA-256 in hex of what the cookie holds."""
    token_id: int = Field(sa_column=reference_column("api_token.id"))
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    expires_at: datetime | None = Field(default=None, sa_column=time_column())


class IdempotencyKeyTable(SQLModel, table=True):
    """A request that made something, under the key that its client gave it: the same again makes nothing new."""

    __tablename__ = "idempotency_key"

    principal: str = Field(sa_column=Column(Text, primary_key=True))
    """Whose key it is: `token:7`, or `open` where no authentication is needed."""
    key_hash: str = Field(sa_column=Column(Text, primary_key=True))
    request_hash: str
    """SHA-256 in hex over method, path, query and body."""
    made: dict[str, Any] = Field(sa_column=json_column())
    """What was made, by ids."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())


class ChangeListenerTable(SQLModel, table=True):
    """One row, renewed while a process listens for changes: nothing is notified without it."""

    __tablename__ = "change_listener"
    __table_args__ = {"prefixes": ["UNLOGGED"]}

    id: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    listened_at: datetime | None = Field(default=None, sa_column=now_column())
