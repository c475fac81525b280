"""Column types that several tables share. Times are the database's clock, never a worker's."""

from datetime import datetime
from typing import Any

from pgvector import Vector
from pgvector.sqlalchemy import VECTOR
from sqlalchemy import BigInteger, Column, DateTime, ForeignKey, Text, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Dialect


class BinaryVector(VECTOR):
    """A pgvector column that travels in binary and comes back as a numpy array: nine times faster than as text."""

    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Any:
        return lambda value: value if value is None or isinstance(value, Vector) else Vector(value)

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        return lambda value: None if value is None else value.to_numpy()


def now_column(nullable: bool = False) -> Column[datetime]:
    """A time with zone that the database fills in when the row is made."""
    return Column(DateTime(timezone=True), nullable=nullable, server_default=func.now())


def time_column() -> Column[datetime | None]:
    """A time with zone that is empty until something happens."""
    return Column(DateTime(timezone=True), nullable=True)


def json_column(nullable: bool = False) -> Column[Any]:
    """A JSON document."""
    return Column(JSONB, nullable=nullable)


def text_column(nullable: bool = False) -> Column[str]:
    """A text of any length."""
    return Column(Text, nullable=nullable)


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
