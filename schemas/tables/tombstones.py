"""What was purged: a row each, chained by hash, in place of what is gone; and the purges that workers carried out."""

from datetime import datetime

from sqlalchemy import BigInteger, Column, DateTime, Index, text
from sqlmodel import Field, SQLModel

from schemas.tables.columns import id_column, now_column, text_column, time_column


class TombstoneTable(SQLModel, table=True):
    """A run that was purged, whole or but for its results. Its hash covers the row before it and all it records."""

    __tablename__ = "tombstone"
    __table_args__ = (
        Index("ix_tombstone_run_id", "run_id"),
        Index("ix_tombstone_unfinished", "id", postgresql_where=text("finished_at IS NULL")),
    )

    id: int | None = Field(default=None, sa_column=id_column())
    run_id: int = Field(sa_column=Column(BigInteger, nullable=False))
    """The run, which may be gone."""
    what: str
    """`run`, or `outputs` where results were kept."""
    kind: str
    identity: str
    settings_hash: str
    reason: str
    """What was asked for: an age, a state. Never a note of a person."""
    jobs: int
    attempts: int
    """How many attempts, or outputs of attempts, are gone."""
    digest: str
    """SHA-256 over their hashes, in their order."""
    head: str | None = Field(default=None, sa_column=text_column(nullable=True))
    """The end of the chains of a run that was deleted, as an anchor has it; null in rows of older versions too."""
    previous_hash: str | None = None
    hash: str
    purged_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    finished_at: datetime | None = Field(default=None, sa_column=time_column())
    """When the last row was gone; null while the purge goes on."""


class ScheduledPurgeTable(SQLModel, table=True):
    """A purge that a worker carried out because its settings say so, at most one a day."""

    __tablename__ = "scheduled_purge"

    id: int | None = Field(default=None, sa_column=id_column())
    began_at: datetime | None = Field(default=None, sa_column=now_column())
    ended_at: datetime | None = Field(default=None, sa_column=time_column())
    """Null while it goes on, and of one that was broken off, which another worker continues."""
    runs: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    """Runs that are gone, or that only have their results."""
    jobs: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    attempts: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    """Attempts, or outputs of attempts, that are gone."""
    calls: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    error_type: str | None = Field(default=None, sa_column=text_column(nullable=True))
    """The type of the error that it ended with."""
