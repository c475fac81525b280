"""Settings of new runs that were chosen for everybody over REST."""

from collections.abc import Mapping

from store.database import Connection

ALL = "SELECT name, value FROM chosen_setting"

KEEP = """
INSERT INTO chosen_setting (name, value) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = now()
"""

FORGET = "DELETE FROM chosen_setting WHERE name = $1"


async def chosen(connection: Connection) -> dict[str, str]:
    """The values by environment name."""
    return {row["name"]: row["value"] for row in await connection.fetch(ALL)}


async def choose(connection: Connection, values: Mapping[str, str]) -> None:
    """Store these values in place of older ones; an empty one removes what was chosen."""
    async with connection.transaction():
        for name, value in values.items():
            await (connection.execute(KEEP, name, value) if value else connection.execute(FORGET, name))
