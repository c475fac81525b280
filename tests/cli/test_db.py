"""`ragq db migrate` with nothing but a database."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.main import cli
from schemas.settings.process import KNOWN_NAMES
from store import migrate
from store.migrate import is_newest_revision
from tests.cli.conftest import Stored
from tests.store.statements import EMPTIED, execute


@pytest.fixture
def ragq_migrate(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs `ragq db migrate OPTIONS` in an empty folder, without a broker."""
    monkeypatch.chdir(tmp_path)
    named = dict.fromkeys(KNOWN_NAMES) | {"DATABASE_URL": database_url, "RAGQ_HOME": str(tmp_path)}
    return lambda *options, **also: CliRunner(env=named).invoke(cli, ["db", "migrate", *options], **also)


def test_a_database_is_migrated_without_a_broker(
    database_url: str, ragq_migrate: Callable[..., Result], stored: Stored
) -> None:
    asyncio.run(execute(database_url, EMPTIED))

    first, second = (ragq_migrate("--json") for _ in range(2))

    newest = json.loads(second.stdout)["after"]
    assert (first.exit_code, json.loads(first.stdout)) == (0, {"before": None, "after": newest})
    assert stored(is_newest_revision)


def test_the_sql_that_is_printed_makes_the_tables(
    database_url: str, ragq_migrate: Callable[..., Result], stored: Stored
) -> None:
    asyncio.run(execute(database_url, EMPTIED))

    printed = ragq_migrate("--sql")
    asyncio.run(execute(database_url, printed.stdout))
    ragq_migrate(catch_exceptions=False)
    again = ragq_migrate("--sql")

    assert stored(is_newest_revision)
    assert "CREATE TABLE" in printed.stdout and again.stdout == ""
    assert "up to date" in again.stderr
    migrate.check(database_url)


def test_tables_of_another_version_are_named_and_left_as_they_are(
    database_url: str, ragq_migrate: Callable[..., Result], stored: Stored
) -> None:
    asyncio.run(execute(database_url, "UPDATE alembic_version SET version_num = '0041'"))

    result = ragq_migrate()

    assert isinstance(result.exception, migrate.OtherTablesError)
    assert "0041" in str(result.exception) and "RAGQ_HOME" in str(result.exception)
    assert not stored(is_newest_revision)
