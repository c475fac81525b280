"""Language model calls that were paid for, and who used them."""

from datetime import datetime
from typing import Any

from sqlalchemy import Column, Index, Integer, text
from sqlmodel import Field, SQLModel

from schemas.tables.columns import id_column, json_column, now_column, reference_column, text_column, time_column


class LLMCallTable(SQLModel, table=True):
    """One answered call. A later call with the same key finds it and pays nothing."""

    __tablename__ = "llm_call"
    __table_args__ = (
        Index("ux_llm_call_key", "key", unique=True, postgresql_where=text("rejected_at IS NULL")),
        Index("ix_llm_call_key", "key"),
    )

    id: int | None = Field(default=None, sa_column=id_column())
    key: str
    """SHA-256 over everything that can change the answer; `store.runs.ledger` lists it."""
    model: str
    digest: str
    request: dict[str, Any] = Field(sa_column=json_column())
    reply: str = Field(sa_column=text_column())
    stop_reason: str
    prompt_tokens: int | None = None
    reply_tokens: int | None = None
    seconds: float
    tokens: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    """The token signals of the reply; null where none were asked for, or the server gave none."""
    served_by: dict[str, Any] = Field(sa_column=json_column())
    """The identity of the model: server, digest or entry in the server's list."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    rejected_at: datetime | None = Field(default=None, sa_column=time_column())
    """When a stage could not use the reply; a rejected reply is kept and never given out again."""


class LLMCallUseTable(SQLModel, table=True):
    """A call as one attempt of a stage made it, in order."""

    __tablename__ = "llm_call_use"
    __table_args__ = (Index("ix_llm_call_use_call_id", "call_id"),)

    attempt_id: int = Field(sa_column=reference_column("stage_attempt.id", primary_key=True))
    ordinal: int = Field(sa_column=Column(Integer, primary_key=True))
    call_id: int = Field(sa_column=reference_column("llm_call.id", cascade=False))
    purpose: str
    is_reused: bool
    """The answer was there already: nothing was paid."""
