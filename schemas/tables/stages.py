"""The stages of jobs: the state of each, every attempt, and the vectors it stored."""

from datetime import datetime
from typing import Any

from pgvector.sqlalchemy import VECTOR
from sqlalchemy import BigInteger, Boolean, Column, Index, LargeBinary, Text, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from schemas.tables.columns import id_column, json_column, reference_column, text_column, time_column


class StageRunTable(SQLModel, table=True):
    """The state of one stage of one job. A row that is `ready` is a message that is due: this table is the outbox."""

    __tablename__ = "stage_run"
    __table_args__ = (
        Index("ix_stage_run_due", "enq_at", postgresql_where=text("status = 'ready'")),
        Index("ix_stage_run_leased", "lease_until", postgresql_where=text("status = 'running'")),
    )

    job_id: int = Field(sa_column=reference_column("job.id", primary_key=True))
    stage: str = Field(sa_column=Column(Text, primary_key=True))
    position: int
    """Place in the chain, from 0."""
    status: str
    fence: int = 0
    """Rises with every claim; a commit that carries an older one changes nothing."""
    claim_token: int | None = Field(default=None, sa_column=Column(BigInteger))
    """Random, of the last claim: a commit that carries another one changes nothing."""
    attempts: int = 0
    """How often it was claimed."""
    interruptions: int = 0
    """Expired leases since the last success or retry."""
    retries: int = 0
    """Automatic retries of transport errors since the last success or retry."""
    worker_id: str | None = None
    lease_until: datetime | None = Field(default=None, sa_column=time_column())
    enq_at: datetime | None = Field(default=None, sa_column=time_column())
    """When its message was last sent; empty when it has to be sent."""
    enq_n: int = 0
    """How often the reaper sent it again; the back-off doubles with each."""
    queue: str | None = None
    """Where its message waits, if that is not the queue of its name."""
    not_before: datetime | None = Field(default=None, sa_column=time_column())
    """An automatic retry waits until then."""
    started_at: datetime | None = Field(default=None, sa_column=time_column())
    finished_at: datetime | None = Field(default=None, sa_column=time_column())


class StageAttemptTable(SQLModel, table=True):
    """One try of one stage. Rows are added and closed once; a closed row carries the hash of the one before it."""

    __tablename__ = "stage_attempt"
    __table_args__ = (UniqueConstraint("job_id", "stage", "number"), Index("ix_stage_attempt_job_id", "job_id", "id"))

    id: int | None = Field(default=None, sa_column=id_column())
    job_id: int = Field(sa_column=reference_column("job.id"))
    stage: str
    number: int
    fence: int
    worker_id: str
    started_at: datetime | None = Field(default=None, sa_column=time_column())
    ended_at: datetime | None = Field(default=None, sa_column=time_column())
    outcome: str
    inputs: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    """What it read, by name: hashes and ids."""
    output: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    output_hash: str | None = None
    """SHA-256 over the output and its vectors."""
    previous_hash: str | None = None
    hash: str | None = None
    error_type: str | None = None
    """The exception's class, `module.Class`."""
    error_message: str | None = Field(default=None, sa_column=text_column(nullable=True))
    error_category: str | None = None
    error_details: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    """What must not be logged: the raw reply, the exception's own words, the traceback."""
    database_s: float | None = None
    """Seconds of its database calls, without its claim and the statement that closes it: its own time cannot be in it.
    Nor are the pieces of an answer, which are stored while the model writes. Empty for those that no worker closed
    itself."""


class StageVectorTable(SQLModel, table=True):
    """A vector that an attempt stored, by its position in the output's own order."""

    __tablename__ = "stage_vector"
    __table_args__ = (Index("ix_stage_vector_text_key", "text_key", postgresql_where=text("text_key IS NOT NULL")),)

    attempt_id: int = Field(sa_column=reference_column("stage_attempt.id", primary_key=True))
    ordinal: int = Field(sa_column=Column(BigInteger, primary_key=True))
    vector: Any = Field(sa_column=Column(VECTOR, nullable=False))
    text_key: bytes | None = Field(default=None, sa_column=Column(LargeBinary, nullable=True))
    """A hash over the text, the model and its settings, by which an equal text finds it; None where none may."""
    is_cut: bool | None = Field(default=None, sa_column=Column(Boolean, nullable=True))
    """Whether the model read only a part of the text."""
