"""Whether a database has every migration."""

from store.database import Connection
from store.migrate import is_newest_revision


async def test_a_migrated_database_has_the_newest_revision(connection: Connection) -> None:
    assert await is_newest_revision(connection)


async def test_a_database_that_is_behind_or_empty_has_not(connection: Connection) -> None:
    await connection.execute("UPDATE alembic_version SET version_num = '0000'")
    assert not await is_newest_revision(connection)
    await connection.execute("DROP TABLE alembic_version")
    assert not await is_newest_revision(connection)
