"""The worker processes that were seen, and the environments that processes run in."""

from datetime import datetime
from typing import Any

from sqlalchemy import ARRAY, Column, Text
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
    environment_id: int = Field(sa_column=reference_column("environment.id", cascade=False))
    """Where it runs."""
    started_at: datetime | None = Field(default=None, sa_column=now_column())
    seen_at: datetime | None = Field(default=None, sa_column=now_column())
    servers: dict[str, Any] = Field(sa_column=json_column())
    """The servers of models that it asks, by the setting that names each, without secrets."""
    concurrency: int
    """How many stages it runs at a time; 0 for a process that another one counts."""
    broker: str = Field(sa_column=text_column())
    """The broker that it takes messages from, without credentials."""
