"""Calls of language models that are sent as batches of a provider, and who waits for their answers."""

from datetime import datetime
from typing import Any

from sqlalchemy import Column, Index, Text
from sqlmodel import Field, SQLModel

from schemas.tables.columns import id_column, json_column, now_column, reference_column, text_column, time_column


class LLMBatchRunTable(SQLModel, table=True):
    """A run whose calls are sent as batches."""

    __tablename__ = "llm_batch_run"

    run_id: int = Field(sa_column=reference_column("run.id", primary_key=True))
    hours: float
    """How long a batch may take; calls without an answer are sent singly then."""


class LLMBatchTable(SQLModel, table=True):
    """A batch: many calls to one model of one server."""

    __tablename__ = "llm_batch"
    __table_args__ = (Index("ix_llm_batch_due", "due_at"),)

    id: int | None = Field(default=None, sa_column=id_column())
    name: str = Field(sa_column=text_column())
    """By which the provider knows it: a batch that was sent just before its sender died is found, not repeated."""
    server: str = Field(sa_column=text_column())
    model: str = Field(sa_column=text_column())
    hours: float
    calls: int
    status: str = Field(sa_column=text_column())
    """A BatchStatus."""
    provider_id: str | None = Field(default=None, sa_column=text_column(nullable=True))
    answered: int = 0
    """Calls that the provider has answered, as it says."""
    note: str | None = Field(default=None, sa_column=text_column(nullable=True))
    """Why the provider was not reached, or refused the batch."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    sent_at: datetime | None = Field(default=None, sa_column=time_column())
    ended_at: datetime | None = Field(default=None, sa_column=time_column())
    due_at: datetime | None = Field(default=None, sa_column=time_column())
    """When it is looked at next; later while somebody does. Null once it has ended."""


class LLMBatchCallTable(SQLModel, table=True):
    """A call that waits for its answer. It is deleted when the answer is in the ledger."""

    __tablename__ = "llm_batch_call"
    __table_args__ = (Index("ix_llm_batch_call_batch_id", "batch_id"),)

    key: str = Field(sa_column=Column(Text, primary_key=True))
    """As in the ledger."""
    batch_id: int | None = Field(default=None, sa_column=reference_column("llm_batch.id", nullable=True))
    """Null until it is part of a batch."""
    server: str = Field(sa_column=text_column())
    model: str = Field(sa_column=text_column())
    hours: float
    call: dict[str, Any] = Field(sa_column=json_column())
    served_by: dict[str, Any] = Field(sa_column=json_column())
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    is_single: bool = False
    """The batch had no answer: whoever needs it sends the call by itself."""
    error: str | None = Field(default=None, sa_column=text_column(nullable=True))
    """Why its batch was refused: whoever needs the call fails."""


class LLMBatchStageTable(SQLModel, table=True):
    """A stage that waits for the answer to a call."""

    __tablename__ = "llm_batch_stage"
    __table_args__ = (Index("ix_llm_batch_stage_job_id", "job_id"),)

    key: str = Field(sa_column=Column(Text, primary_key=True))
    job_id: int = Field(sa_column=reference_column("job.id", primary_key=True))
    stage: str = Field(sa_column=Column(Text, primary_key=True))
