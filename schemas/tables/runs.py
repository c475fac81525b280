"""Runs and their jobs."""

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Column, Index, Text, UniqueConstraint, func, text
from sqlmodel import Field, SQLModel

from schemas.statuses import JobStatus, Priority
from schemas.tables.columns import id_column, json_column, now_column, reference_column, text_column, time_column

_OPEN = "status IN ('waiting', 'running', 'interrupted')"


class RunTable(SQLModel, table=True):
    """One submission: a kind, its inputs, and every setting as it was at that moment."""

    __tablename__ = "run"
    __table_args__ = (
        Index("ux_run_name", func.lower(text("name")), unique=True),
        Index(
            "ix_run_partial", "id", postgresql_where=text("kind = 'index' AND (request ->> 'allow_partial')::boolean")
        ),
    )

    id: int | None = Field(default=None, sa_column=id_column())
    name: str | None = Field(default=None, sa_column=text_column(nullable=True))
    """What people call it; two runs never have the same name, compared without case."""
    note: str | None = Field(default=None, sa_column=text_column(nullable=True))
    """What people wrote about it."""
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
    environment_id: int | None = Field(
        default=None, sa_column=reference_column("environment.id", cascade=False, nullable=True)
    )
    """Where it was submitted."""
    priority: str = Field(
        default=Priority.NORMAL, sa_column=Column(Text, nullable=False, server_default=text("'normal'"))
    )
    emptied_at: datetime | None = Field(default=None, sa_column=time_column())
    """When all but its results was purged."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())


class RunModelTable(SQLModel, table=True):
    """A language model of a run as it was first found: no stage of the run uses another one under its name."""

    __tablename__ = "run_model"

    run_id: int = Field(sa_column=reference_column("run.id", primary_key=True))
    model: str = Field(sa_column=Column(Text, primary_key=True))
    """The name that the server is asked for."""
    identity: dict[str, Any] = Field(sa_column=json_column())
    """Server, digest or entry in the server's list."""
    is_from_submission: bool
    """Asked at submission; otherwise by the worker that called it first."""
    asked_at: datetime | None = Field(default=None, sa_column=now_column())


class JobTable(SQLModel, table=True):
    """One subject of a run, and its state in the stages of its kind."""

    __tablename__ = "job"
    __table_args__ = (
        UniqueConstraint("run_id", "ordinal"),
        Index("ix_job_run_id_status_ordinal", "run_id", "status", "ordinal", postgresql_include=["finished_at"]),
        Index("ix_job_backlog", "run_id", "is_awaited", "id", postgresql_where=text(f"{_OPEN} AND sent_at IS NULL")),
        Index(
            "ix_job_evaluated", text("((inputs ->> 'result_id')::bigint)"), postgresql_where=text("kind = 'evaluation'")
        ),
        Index("ix_job_original", text("(inputs ->> 'original')"), postgresql_where=text("kind = 'work'")),
        Index("ix_job_sent", "sent_at", postgresql_where=text(f"{_OPEN} AND sent_at IS NOT NULL")),
    )

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
    sent_at: datetime | None = Field(default=None, sa_column=time_column())
    """When its messages were sent, or a time ahead until which it waits. An open job without it is to be sent: triggers
    empty it whenever a job is made to wait."""
    is_awaited: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=text("false")))
    """Somebody asked for a step of it and waits: it is interactive, whatever the priority of its run."""
