"""What limits the calls of language models, per server, for all workers together. A crash of Postgres empties it."""

from datetime import datetime

from sqlalchemy import BigInteger, Column, Index, Text
from sqlmodel import Field, SQLModel

from schemas.tables.columns import id_column, reference_column, text_column, time_column


class LLMServerTable(SQLModel, table=True):
    """A server of language models that has limits, or refused a call. Its row is locked while a permit is taken."""

    __tablename__ = "llm_server"
    __table_args__ = {"prefixes": ["UNLOGGED"]}

    server: str = Field(sa_column=Column(Text, primary_key=True))
    """Its name, as models have it: the URL without secrets, or the name that it gives itself."""
    refused_until: datetime | None = Field(default=None, sa_column=time_column())
    """No worker calls it before: it answered 429, or 503 with Retry-After."""
    refusals: int
    """How often it refused again soon after; each doubles the time of a refusal that names none."""


class LLMPermitTable(SQLModel, table=True):
    """A call that is in progress. It counts as long as its stage runs under this fence."""

    __tablename__ = "llm_permit"
    __table_args__ = (Index("ix_llm_permit_server", "server"), {"prefixes": ["UNLOGGED"]})

    id: int | None = Field(default=None, sa_column=id_column())
    server: str = Field(sa_column=text_column())
    job_id: int = Field(sa_column=Column(BigInteger, nullable=False))
    stage: str = Field(sa_column=text_column())
    fence: int
    second: int = Field(sa_column=Column(BigInteger, nullable=False))
    """When it was taken."""
    tokens: int = Field(sa_column=Column(BigInteger, nullable=False))
    """The estimate that counts until the call has ended."""


class LLMSecondTable(SQLModel, table=True):
    """The calls that began in one second, as long as they count for a limit of a minute."""

    __tablename__ = "llm_second"
    __table_args__ = {"prefixes": ["UNLOGGED"]}

    server: str = Field(sa_column=Column(Text, primary_key=True))
    second: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    requests: int
    tokens: int = Field(sa_column=Column(BigInteger, nullable=False))


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
