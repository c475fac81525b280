"""Stages that wait for a server of language models. A crash of Postgres empties it."""

from datetime import datetime

from sqlalchemy import Column, Index, Text
from sqlmodel import Field, SQLModel

from schemas.tables.columns import reference_column, text_column, time_column


class LLMWaitTable(SQLModel, table=True):
    """A stage that was given back, mostly because its server takes no call now."""

    __tablename__ = "llm_wait"
    __table_args__ = (Index("ix_llm_wait_server", "server", "reason", "since"), {"prefixes": ["UNLOGGED"]})

    job_id: int = Field(sa_column=reference_column("job.id", primary_key=True))
    stage: str = Field(sa_column=Column(Text, primary_key=True))
    server: str = Field(sa_column=text_column())
    reason: str = Field(sa_column=text_column())
    since: datetime = Field(sa_column=time_column(nullable=False))
    """When it first had to wait: who waits for longest is first."""
    until: datetime = Field(sa_column=time_column(nullable=False))
    """Its `not_before` then; the row says nothing once the stage has another."""
    refusals: int
    """How often the server refused its call."""
