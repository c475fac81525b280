"""Reports as they were shown, so that nobody waits for the same statistics twice."""

from datetime import datetime

from sqlalchemy import ARRAY, BigInteger, Column, Index, LargeBinary
from sqlmodel import Field, SQLModel

from schemas.tables.columns import now_column, reference_column, text_column


class KeptReportTable(SQLModel, table=True):
    """What a command printed of one run or more."""

    __tablename__ = "kept_report"
    __table_args__ = (
        Index("ix_kept_report_run_id", "run_id"),
        Index("ix_kept_report_other_ids", "other_ids", postgresql_using="gin"),
    )

    key: bytes = Field(sa_column=Column(LargeBinary, primary_key=True))
    """SHA-256 over the command, the code, and every row that was read: other rows have another key."""
    run_id: int = Field(sa_column=reference_column("run.id"))
    other_ids: list[int] = Field(sa_column=Column(ARRAY(BigInteger), nullable=False, server_default="{}"))
    """The runs that it is compared with, or calibrated on."""
    words: str = Field(sa_column=text_column())
    hash: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    """SHA-256 over the key and the words: words that were changed are not shown."""
    made_at: datetime | None = Field(default=None, sa_column=now_column())
