"""`ragq migrate` with nothing but a database."""

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.main import cli
from schemas.settings.process import KNOWN_NAMES
from store import migrate
from store.database import Database
from store.revision import is_newest
from tests.store.statements import EMPTIED, execute


def test_a_database_is_migrated_without_a_broker(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asyncio.run(execute(database_url, EMPTIED))
    named = dict.fromkeys(KNOWN_NAMES) | {"DATABASE_URL": database_url, "RAGQ_HOME": str(tmp_path)}

    first, second = (CliRunner(env=named).invoke(cli, ["migrate", "--json"]) for _ in range(2))

    newest = json.loads(second.stdout)["after"]
    assert (first.exit_code, json.loads(first.stdout)) == (0, {"before": None, "after": newest})
    assert asyncio.run(is_migrated(database_url))


def test_the_sql_that_is_printed_makes_the_tables(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asyncio.run(execute(database_url, EMPTIED))
    named = dict.fromkeys(KNOWN_NAMES) | {"DATABASE_URL": database_url, "RAGQ_HOME": str(tmp_path)}

    printed = CliRunner(env=named).invoke(cli, ["migrate", "--sql"])
    asyncio.run(execute(database_url, printed.stdout))
    CliRunner(env=named).invoke(cli, ["migrate"], catch_exceptions=False)
    again = CliRunner(env=named).invoke(cli, ["migrate", "--sql"])

    assert asyncio.run(is_migrated(database_url))
    assert "CREATE TABLE" in printed.stdout and "CREATE" not in again.stdout
    migrate.check(database_url)


def test_tables_of_another_version_are_named_and_left_as_they_are(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asyncio.run(execute(database_url, "UPDATE alembic_version SET version_num = '0041'"))
    named = dict.fromkeys(KNOWN_NAMES) | {"DATABASE_URL": database_url, "RAGQ_HOME": str(tmp_path)}

    result = CliRunner(env=named).invoke(cli, ["migrate"])

    assert isinstance(result.exception, migrate.OtherTablesError)
    assert "0041" in str(result.exception) and "RAGQ_HOME" in str(result.exception)
    assert not asyncio.run(is_migrated(database_url))


async def is_migrated(database_url: str) -> bool:
    """Whether a database has the newest revision."""
    database = Database(database_url, pool_size=1)
    try:
        async with database.connection() as connection:
            return await is_newest(connection)
    finally:
        await database.close()
