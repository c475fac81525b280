"""The migrations make the tables that the code declares."""

from importlib.resources import files

from alembic.script import ScriptDirectory

from store import migrate


def test_tables_and_migrations_agree(database_url: str) -> None:
    migrate.check(database_url)


def test_there_is_one_newest_revision() -> None:
    assert len(ScriptDirectory(str(files("migrations"))).get_heads()) == 1
