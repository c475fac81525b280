"""`ragq db` with nothing but a database, `ragq token`, whose token alone is on stdout, and `ragq config`."""

import asyncio
import json

import pytest

from cli.config import with_open_database
from schemas.errors import Refused, StackError
from store import migrate
from store.access import Scope, recognise
from store.database import Database
from store.migrate import is_newest_revision
from tests.cli.conftest import Ragq, Stored
from tests.store.statements import EMPTIED, execute

#: No broker is named, and no stack runs.
ALONE = {"REDIS_URL": None, "RAGQ_HOME": "."}


def test_a_database_is_migrated_without_a_broker_by_the_sql_that_is_printed_too(
    database_url: str, ragq: Ragq, stored: Stored
) -> None:
    asyncio.run(execute(database_url, EMPTIED))
    printed = ragq("db", "migrate", "--sql", env=ALONE)
    asyncio.run(execute(database_url, printed.stdout))
    ragq("db", "migrate", env=ALONE, catch_exceptions=False)
    again = ragq("db", "migrate", "--sql", env=ALONE)

    assert stored(is_newest_revision)
    assert "CREATE TABLE" in printed.stdout and again.stdout == ""
    assert "up to date" in again.stderr
    migrate.check(database_url)

    asyncio.run(execute(database_url, EMPTIED))
    first, second = (ragq("db", "migrate", "--json", env=ALONE) for _ in range(2))
    newest = json.loads(second.stdout)["after"]
    assert (first.exit_code, json.loads(first.stdout)) == (0, {"before": None, "after": newest})
    assert stored(is_newest_revision)


def test_tables_of_another_version_are_named_and_left_as_they_are(
    database_url: str, ragq: Ragq, stored: Stored
) -> None:
    asyncio.run(execute(database_url, "UPDATE alembic_version SET version_num = '0041'"))

    result = ragq("db", "migrate", env=ALONE)

    assert isinstance(result.exception, StackError)
    assert "0041" in str(result.exception) and "RAGQ_HOME" in str(result.exception)
    assert not stored(is_newest_revision)


def test_the_token_alone_is_on_stdout_and_no_list_shows_it(ragq: Ragq, stored: Stored) -> None:
    made = ragq("token", "create", "laptop")
    secret = made.stdout.strip()
    assert (made.stdout.startswith("ragq_"), made.stdout.count("\n"), secret in made.stderr) == (True, 1, False)
    assert stored(recognise, secret)[1] is Scope.WRITE
    assert "From now on the API and its pages open for tokens alone, on loopback too." in made.stderr

    limited = ragq("token", "create", "monitor", "--read-only", "--days", "30").stdout.strip()
    assert stored(recognise, limited)[1] is Scope.READ
    assert ragq("token", "create", "x", "--days", "0").exit_code == 2

    first, listed = ragq("token", "revoke", "monitor"), ragq("token", "list")
    lines = [line.split()[:4] for line in listed.stdout.splitlines()[1:]]
    assert lines == [["1", "laptop", "write", "live"], ["2", "monitor", "read", "revoked"]]
    as_json = ragq("token", "list", "--json").stdout
    assert [one["expires_at"] is None for one in json.loads(as_json)["items"]] == [True, False]
    assert secret not in listed.stdout + as_json

    last = ragq("token", "revoke", "1")
    assert (first.output, last.stdout) == ("Revoked token 2, monitor.\n", "Revoked token 1, laptop.\n")
    assert "No live token is left" in last.stderr
    assert [stored(recognise, one)[0] for one in (secret, limited)] == [None, None]


def test_show_keeps_secrets_and_refuses_what_submit_would_refuse(ragq: Ragq) -> None:
    names = {"DATABASE_URL": "postgresql://u:hidden@h/x", "REDIS_URL": "redis://:hidden@h"}
    for options in [[], ["--json"]]:
        output = ragq("config", "show", *options, env=names | {"RAGQ_OPENAI_API_KEY": "hidden"}).output

        assert output.count("set, not shown") == 3
        assert "hidden" not in output
    assert isinstance(ragq("config", "show", "--profile", "papr").exception, Refused)


class Rows:
    """What a command reads, which counts how often its words are asked for."""

    asked = 0

    def __repr__(self) -> str:
        self.asked += 1
        return "every row of a run"


def test_no_words_are_made_of_what_a_command_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    read = Rows()

    async def work(_database: Database) -> Rows:
        return read

    assert (with_open_database(work) is read, read.asked) == (True, 0)
