"""The worker processes that were seen, and the environments that processes run in."""

from datetime import datetime
from typing import Any

from sqlalchemy import ARRAY, Column, Integer, Text
from sqlmodel import Field, SQLModel

from schemas.tables.columns import id_column, json_column, now_column, reference_column, text_column


class EnvironmentTable(SQLModel, table=True):
    """A distinct environment: versions, commit and hardware, without names of hosts, users or folders."""

    __tablename__ = "environment"

    id: int | None = Field(default=None, sa_column=id_column())
    hash: str = Field(unique=True)
    """SHA-256 over the content."""
    content: dict[str, Any] = Field(sa_column=json_column())


class WorkerTable(SQLModel, table=True):
    """One worker process, from its first heartbeat on."""

    __tablename__ = "worker"

    id: str = Field(sa_column=Column(Text, primary_key=True))
    host: str
    pid: int
    stages: list[str] = Field(sa_column=Column(ARRAY(Text), nullable=False))
    version: str
    environment_id: int | None = Field(
        default=None, sa_column=reference_column("environment.id", cascade=False, nullable=True)
    )
    """Where it runs; null for workers older than the column."""
    started_at: datetime | None = Field(default=None, sa_column=now_column())
    seen_at: datetime | None = Field(default=None, sa_column=now_column())
    servers: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    """The servers of models that it asks, by the setting that names each, without secrets; null for older workers."""
    concurrency: int | None = Field(default=None, sa_column=Column(Integer, nullable=True))
    """How many stages it runs at a time; null for older workers, 0 for a process that another one counts."""
    broker: str | None = Field(default=None, sa_column=text_column(nullable=True))
    """The broker that it takes messages from, without credentials; null for older workers."""
