"""The worker processes that were seen."""

from datetime import datetime

from sqlalchemy import ARRAY, Column, Text
from sqlmodel import Field, SQLModel

from schemas.tables.columns import now_column


class WorkerTable(SQLModel, table=True):
    """One worker process, from its first heartbeat on."""

    __tablename__ = "worker"

    id: str = Field(sa_column=Column(Text, primary_key=True))
    host: str
    pid: int
    stages: list[str] = Field(sa_column=Column(ARRAY(Text), nullable=False))
    version: str
    started_at: datetime | None = Field(default=None, sa_column=now_column())
    seen_at: datetime | None = Field(default=None, sa_column=now_column())
