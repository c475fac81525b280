"""`ragq migrate` with nothing but a database."""

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.main import cli
from schemas.errors import StackError
from schemas.settings.process import KNOWN_NAMES
from stack.ports import LOOPBACK, free_port
from store import migrate
from store.database import Database
from store.revision import is_newest
from tests.store.statements import execute


def test_a_database_is_migrated_without_a_broker(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    migrate.downgrade(database_url, "0001")
    named = dict.fromkeys(KNOWN_NAMES) | {"DATABASE_URL": database_url, "RAGQ_HOME": str(tmp_path)}

    result = CliRunner(env=named).invoke(cli, ["migrate"])

    assert (result.exit_code, result.stderr) == (0, "The database is up to date.\n")
    assert asyncio.run(newest(database_url))


def test_the_revisions_before_and_after_are_printed_as_json(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named = dict.fromkeys(KNOWN_NAMES) | {"DATABASE_URL": database_url, "RAGQ_HOME": str(tmp_path)}
    newest = json.loads(CliRunner(env=named).invoke(cli, ["migrate", "--json"]).stdout)["after"]
    migrate.downgrade(database_url, "0001")

    printed = json.loads(CliRunner(env=named).invoke(cli, ["migrate", "--json"]).stdout)

    assert printed == {"before": "0001", "after": newest}
    assert newest > "0001"


def test_an_unreachable_database_is_reported_with_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"postgresql://ragq:secret@{LOOPBACK}:{free_port()}/ragq"
    named = dict.fromkeys(KNOWN_NAMES) | {"DATABASE_URL": url, "RAGQ_HOME": str(tmp_path)}

    result = CliRunner(env=named).invoke(cli, ["migrate"])

    assert isinstance(result.exception, StackError)
    assert str(result.exception).startswith("The database cannot be reached (ConnectionRefusedError). `ragq ps` shows")


def test_tables_of_a_newer_version_are_named_and_left_as_they_are(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asyncio.run(execute(database_url, "UPDATE alembic_version SET version_num = '9999'"))
    named = dict.fromkeys(KNOWN_NAMES) | {"DATABASE_URL": database_url, "RAGQ_HOME": str(tmp_path)}

    result = CliRunner(env=named).invoke(cli, ["migrate"])

    assert isinstance(result.exception, StackError)
    assert str(result.exception) == (
        "The tables of the database are of a newer version of ragq (revision 9999); install that version. "
        "Nothing was changed."
    )


async def newest(database_url: str) -> bool:
    """Whether a database has the newest revision."""
    database = Database(database_url, pool_size=1)
    try:
        async with database.connection() as connection:
            return await is_newest(connection)
    finally:
        await database.close()
