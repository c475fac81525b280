"""Columns that several tables have. Whether one may be empty is said by its type. Times are the database's clock."""

import re
from typing import Any

from pgvector.sqlalchemy import VECTOR
from sqlalchemy import ARRAY, BigInteger, DateTime, ForeignKey, Text, func
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import declared_attr
from sqlmodel import Field, SQLModel

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Row(SQLModel):
    """A row. Unless a class names its table, that of `LLMCallTable` is `llm_call`."""

    @declared_attr.directive
    def __tablename__(cls) -> str:
        return _WORD.sub("_", cls.__name__.removesuffix("Table")).lower()


def now() -> Any:
    """A time with zone that the database fills in when the row is made."""
    return Field(sa_type=DateTime(timezone=True), sa_column_kwargs={"server_default": func.now()})


def time() -> Any:
    """A time with zone."""
    return Field(sa_type=DateTime(timezone=True))


def json(default: str | None = None) -> Any:
    """A JSON document."""
    return Field(sa_type=JSONB, sa_column_kwargs={"server_default": default})


def text(default: str | None = None, *, primary_key: bool = False, unique: bool = False) -> Any:
    """A text of any length."""
    return Field(sa_type=Text, primary_key=primary_key, unique=unique, sa_column_kwargs={"server_default": default})


def array(of: Any = Text, default: str | None = None) -> Any:
    """An array."""
    return Field(sa_type=ARRAY(of), sa_column_kwargs={"server_default": default})


def flag() -> Any:
    """Yes or no; no unless it is said."""
    return Field(sa_column_kwargs={"server_default": sql("false")})


def long(default: str | None = None, *, primary_key: bool = False) -> Any:
    """A whole number of 8 bytes."""
    given = {"server_default": None if default is None else sql(default), "autoincrement": False}
    return Field(sa_type=BigInteger, primary_key=primary_key, sa_column_kwargs=given)


def vector() -> Any:
    """A vector of any dimension."""
    return Field(sa_type=VECTOR)


def serial() -> Any:
    """A number that the database gives."""
    return Field(sa_type=BigInteger, primary_key=True, sa_column_kwargs={"autoincrement": True})


def reference(target: str, *, deleted: str | None = "CASCADE", primary_key: bool = False, index: bool = False) -> Any:
    """A pointer at another table's id; `deleted` is what becomes of it when that row is deleted."""
    key = [ForeignKey(target, ondelete=deleted)]
    return Field(sa_type=BigInteger, sa_column_args=key, primary_key=primary_key, index=index)
