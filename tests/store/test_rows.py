"""Simple statements about one table."""

from schemas.values.base import Value
from store import rows
from store.database import Connection


class _Setting(Value):
    name: str
    value: str


TABLE = "chosen_setting"


async def test_rows_are_put_found_changed_and_deleted(connection: Connection) -> None:
    for name in ("b", "a", "c"):
        await rows.put(connection, TABLE, {"name": name}, value=f"of {name}")
    await rows.put(connection, TABLE, {"name": "a"}, value="new")

    assert await rows.get(connection, _Setting, TABLE, name="a") == _Setting(name="a", value="new")
    assert await rows.get(connection, _Setting, TABLE, value=None) is None
    assert [one.value for one in await rows.find(connection, _Setting, TABLE, order="name")] == ["new", "of b", "of c"]
    assert await rows.values(connection, TABLE, "name", order="name DESC", name=["a", "b"]) == ["b", "a"]
    assert await rows.update(connection, TABLE, {"name": ["a", "b"]}, value="same", updated_at=rows.NOW) == 2
    assert await rows.delete(connection, TABLE, value="same") == 2
    assert await rows.pairs(connection, TABLE, "name", "value") == {"c": "of c"}
