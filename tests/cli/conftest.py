"""Commands over a real database."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.main import cli
from schemas.settings.process import KNOWN_NAMES
from store.database import Database

Ragq = Callable[..., Result]
Stored = Callable[..., Any]


@pytest.fixture
def stored(database_url: str) -> Stored:
    """Calls a coroutine function on a connection to the database that `ragq` uses."""

    def store(work: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        async def connected() -> Any:
            database = Database(database_url, pool_size=1)
            try:
                async with database.connection() as connection:
                    return await work(connection, *arguments, **named)
            finally:
                await database.close()

        return asyncio.run(connected())

    return store


@pytest.fixture
def ragq(database_url: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Ragq:
    """Runs `ragq ARGUMENTS` on a fresh database, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    servers = {"DATABASE_URL": database_url, "REDIS_URL": "redis://127.0.0.1:1/0"}
    environment = dict.fromkeys(KNOWN_NAMES) | servers | {"RAGQ_PROFILE": "demo"}
    return lambda *arguments, **named: CliRunner(env=environment).invoke(cli, arguments, **named)


def json_of(ragq: Ragq, *arguments: str, **named: Any) -> Any:
    """What a command that succeeds prints as JSON."""
    done = ragq(*arguments, "--json", **named)
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)
