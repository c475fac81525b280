"""Runs and their jobs."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field, SQLModel

from schemas.statuses import JobStatus
from schemas.tables.columns import id_column, json_column, now_column, reference_column, text_column, time_column


class RunTable(SQLModel, table=True):
    """One submission: a kind, its inputs, and every setting as it was at that moment."""

    __tablename__ = "run"

    id: int | None = Field(default=None, sa_column=id_column())
    kind: str
    identity: str = Field(index=True)
    """SHA-256 over kind, settings and inputs: the same submission has the same identity."""
    profile: str
    settings: dict[str, Any] = Field(sa_column=json_column())
    """Every effective value and where it came from."""
    settings_hash: str
    request: dict[str, Any] = Field(sa_column=json_column())
    """What was asked for: split, modes, limit. Never text of a subject."""
    version: str
    """The ragq that stored it."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())


class JobTable(SQLModel, table=True):
    """One subject of a run, and its state in the stages of its kind."""

    __tablename__ = "job"
    __table_args__ = (UniqueConstraint("run_id", "ordinal"), Index("ix_job_run_id_status", "run_id", "status"))

    id: int | None = Field(default=None, sa_column=id_column())
    run_id: int = Field(sa_column=reference_column("run.id"))
    ordinal: int
    kind: str
    mode: str
    subject: str
    """What the job is about, as an id: a participant's number."""
    inputs: dict[str, Any] = Field(sa_column=json_column())
    """What the stages start from: ids and hashes, and text that came with the submission (given evidence)."""
    status: str = JobStatus.WAITING
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    finished_at: datetime | None = Field(default=None, sa_column=time_column())
    """When it finished: succeeded, failed, poisoned or cancelled."""
    note: str | None = Field(default=None, sa_column=text_column(nullable=True))
    """Why it was paused or cancelled, in the operator's words."""
