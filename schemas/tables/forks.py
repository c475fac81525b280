"""Forks: runs that begin with copies of what the first stages of another run stored."""

from sqlalchemy import BigInteger, Column, ForeignKey
from sqlmodel import Field, SQLModel

from schemas.tables.columns import reference_column, text_column


def _parent_column(target: str) -> Column[int | None]:
    return Column(BigInteger, ForeignKey(target, ondelete="SET NULL"), nullable=True, index=True)


class RunForkTable(SQLModel, table=True):
    """A run that was forked from another one."""

    __tablename__ = "run_fork"

    run_id: int = Field(sa_column=reference_column("run.id", primary_key=True))
    parent_id: int | None = Field(default=None, sa_column=_parent_column("run.id"))
    """Null once that run is deleted."""
    stage: str = Field(sa_column=text_column())
    """The first stage that the fork computes itself."""


class JobForkTable(SQLModel, table=True):
    """A job of a fork, and the job of the same subject and mode whose first outputs it copied."""

    __tablename__ = "job_fork"

    job_id: int = Field(sa_column=reference_column("job.id", primary_key=True))
    parent_id: int | None = Field(default=None, sa_column=_parent_column("job.id"))
    """Null once that job is deleted."""
