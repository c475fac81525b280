"""Column types that several tables share. Times are the database's clock, never a worker's."""

from datetime import datetime
from typing import Any

from sqlalchemy import ARRAY, BigInteger, Column, DateTime, ForeignKey, Text, func, text
from sqlalchemy.dialects.postgresql import JSONB


def now_column() -> Column[datetime]:
    """A time with zone that the database fills in when the row is made."""
    return Column(DateTime(timezone=True), nullable=False, server_default=func.now())


def time_column(nullable: bool = True) -> Column[datetime | None]:
    """A time with zone; one that may be empty is so until something happens."""
    return Column(DateTime(timezone=True), nullable=nullable)


def json_column(nullable: bool = False) -> Column[Any]:
    """A JSON document."""
    return Column(JSONB, nullable=nullable)


def text_column(nullable: bool = False) -> Column[str]:
    """A text of any length."""
    return Column(Text, nullable=nullable)


def variant_column() -> Column[str]:
    """A TranscriptVariant."""
    return Column(Text, nullable=False, server_default="unknown")


def dtypes_column() -> Column[list[str]]:
    """Number formats of vectors."""
    return Column(ARRAY(Text), nullable=False, server_default=text("'{}'"))


def id_column() -> Column[int]:
    """A number that the database gives."""
    return Column(BigInteger, primary_key=True, autoincrement=True)


def reference_column(
    target: str, *, primary_key: bool = False, cascade: bool = True, nullable: bool = False
) -> Column[int]:
    """A pointer at another table's id."""
    return Column(
        BigInteger,
        ForeignKey(target, ondelete="CASCADE" if cascade else None),
        primary_key=primary_key,
        nullable=nullable,
    )
