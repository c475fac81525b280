"""The limits of runs, and what counts towards them."""

from sqlalchemy import BigInteger, Column, text
from sqlmodel import Field, SQLModel

from schemas.tables.columns import reference_column, text_column


def _count() -> Column[int]:
    return Column(BigInteger, nullable=False, server_default=text("0"))


class RunLimitTable(SQLModel, table=True):
    """The limits that a run was submitted or resumed with; a run without any has no row."""

    __tablename__ = "run_limit"

    run_id: int = Field(sa_column=reference_column("run.id", primary_key=True))
    max_failures: str | None = Field(default=None, sa_column=text_column(nullable=True))
    """A number of jobs, or a percentage such as `10%`."""
    max_llm_calls: int | None = Field(default=None, sa_column=Column(BigInteger, nullable=True))
    max_tokens: int | None = Field(default=None, sa_column=Column(BigInteger, nullable=True))
    llm_calls: int = Field(default=0, sa_column=_count())
    """Calls that were sent; one that a server refused does not count."""
    tokens: int = Field(default=0, sa_column=_count())
    """Of prompts and replies of the calls that ended."""
    failed_before: int = Field(default=0, sa_column=_count())
    """Jobs that had failed when the run was last resumed: they stop it no more."""
    finished_before: int = Field(default=0, sa_column=_count())
