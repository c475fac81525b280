"""Simple statements about one table. Those of several tables, and those of the queue, are SQL where they are used.

What is read are the fields of a record class, which are columns. Conditions are columns and the value that each has: a
list means one of its values, and None means null.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from store.database import Connection

Record = TypeVar("Record")


@dataclass(frozen=True)
class Sql:
    """A value that Postgres computes."""

    text: str


NOW: Final = Sql("now()")


async def get(connection: Connection, record: type[Record], table: str, /, **where: Any) -> Record | None:
    """The row; None when there is none."""
    row = await connection.fetchrow(*_select(columns_of(record), table, where))
    return None if row is None else record(**row)


async def find(
    connection: Connection, record: type[Record], table: str, /, *, order: str = "", **where: Any
) -> list[Record]:
    """The rows, in an order of columns where one is given."""
    return [record(**row) for row in await connection.fetch(*_select(columns_of(record), table, where, order))]


async def value(connection: Connection, table: str, column: str, /, **where: Any) -> Any:
    """A column of the row; None when there is no row."""
    return await connection.fetchval(*_select(column, table, where))


async def values(connection: Connection, table: str, column: str, /, *, order: str = "", **where: Any) -> list[Any]:
    """A column of the rows, in an order of columns where one is given."""
    return [row[0] for row in await connection.fetch(*_select(column, table, where, order))]


async def pairs(
    connection: Connection, table: str, key: str, column: str, /, *, order: str = "", **where: Any
) -> dict[Any, Any]:
    """A column of the rows by another, in an order of columns where one is given."""
    return dict(await connection.fetch(*_select(f"{key}, {column}", table, where, order)))


async def insert(connection: Connection, table: str, /, **row: Any) -> int:
    """Insert a row. The number that it gets."""
    given: list[Any] = []
    places = ", ".join(_place(given, one) for one in row.values())
    return int(
        await connection.fetchval(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places}) RETURNING id", *given)
    )


async def put(connection: Connection, table: str, key: Mapping[str, Any], /, **row: Any) -> None:
    """Insert a row, or change the one that has the key."""
    given: list[Any] = []
    places = ", ".join(_place(given, one) for one in (*key.values(), *row.values()))
    changes = ", ".join(f"{column} = excluded.{column}" for column in row)
    await connection.execute(
        f"INSERT INTO {table} ({', '.join((*key, *row))}) VALUES ({places}) "
        f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}",
        *given,
    )


async def update(connection: Connection, table: str, where: Mapping[str, Any], /, **changes: Any) -> int:
    """Change rows. How many."""
    given: list[Any] = []
    assigned = ", ".join(f"{column} = {_place(given, one)}" for column, one in changes.items())
    done = await connection.execute(f"UPDATE {table} SET {assigned}{_conditions(given, where)}", *given)
    return int(done.rpartition(" ")[2])


async def delete(connection: Connection, table: str, /, **where: Any) -> int:
    """Delete rows. How many."""
    given: list[Any] = []
    done = await connection.execute(f"DELETE FROM {table}{_conditions(given, where)}", *given)
    return int(done.rpartition(" ")[2])


def columns_of(record: type[Any]) -> str:
    """The columns that a record is made of, for a statement."""
    if is_dataclass(record):
        return ", ".join(field.name for field in fields(record))
    return ", ".join(record.model_fields if issubclass(record, BaseModel) else record._fields)


def _select(columns: str, table: str, where: Mapping[str, Any], order: str = "") -> tuple[Any, ...]:
    given: list[Any] = []
    conditions = _conditions(given, where)
    return f"SELECT {columns} FROM {table}{conditions}{f' ORDER BY {order}' if order else ''}", *given


def _conditions(given: list[Any], where: Mapping[str, Any]) -> str:
    def condition(column: str, wanted: Any) -> str:
        if wanted is None:
            return f"{column} IS NULL"
        if isinstance(wanted, list):
            return f"{column} = ANY({_place(given, wanted)})"
        return f"{column} = {_place(given, wanted)}"

    return f" WHERE {' AND '.join(condition(*one) for one in where.items())}" if where else ""


def _place(given: list[Any], value: Any) -> str:
    """Where a value stands in a statement whose values are `given` so far."""
    if isinstance(value, Sql):
        return value.text
    given.append(json.dumps(value) if isinstance(value, Mapping) else value)
    return f"${len(given)}"
