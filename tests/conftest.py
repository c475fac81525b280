"""Real servers for the tests: one Postgres and one Valkey a session, one fresh database a test that asks for it."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from stack.postgres import PostgresServer
from stack.valkey import ValkeyServer
from store import migrate
from store.database import Database
from tests.started import started, started_llm_server

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A running throw-away Postgres."""
    with PostgresServer(reachable(tmp_path_factory.mktemp("postgres"))) as server:
        yield server


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    """A running throw-away broker."""
    with ValkeyServer(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture(scope="session")
def ollama_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The embedded LLM server over the packaged models."""
    with started_llm_server(tmp_path_factory.mktemp("llm_server") / "log") as server:
        yield server.url


@pytest.fixture(scope="session")
def openai_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of llama.cpp's own OpenAI-compatible server over the packaged model."""
    log = tmp_path_factory.mktemp("openai_server") / "log"
    command = ("-m", "benchmarks.llama_server", "--no-cache", "--context", "2048")
    with started(*command, says=r"listening at http://127.0.0.1:(\d+)", log=log) as server:
        yield f"{server.url}/v1"


@pytest.fixture(scope="session")
def migrated_template(postgres: PostgresServer) -> str:
    """A database with every table and no rows, cloned for each test that needs one."""
    name = "ragq_template"
    administer(postgres, f'CREATE DATABASE "{name}"')
    migrate.upgrade(url_of(postgres, name))
    return name


@pytest.fixture
def database_url(postgres: PostgresServer, migrated_template: str) -> Iterator[str]:
    """The URL of a fresh migrated database."""
    name = f"test_{next(_numbers)}"
    administer(postgres, f'CREATE DATABASE "{name}" TEMPLATE "{migrated_template}" STRATEGY file_copy')
    yield url_of(postgres, name)
    administer(postgres, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """A fresh migrated database, connected."""
    connected = Database(database_url, pool_size=4)
    yield connected
    await connected.close()


def reachable(directory: Path) -> Path:
    """Open a folder of pytest's, and those around it, to the account that Postgres runs as when the tests are root."""
    for folder in (directory, *directory.parents[:2]):
        folder.chmod(0o755)
    return directory


def url_of(postgres: PostgresServer, name: str) -> str:
    """The URL of a database of the server."""
    return postgres.url.rsplit("/", 1)[0] + f"/{name}"


def administer(postgres: PostgresServer, statement: str) -> None:
    """Run a statement that makes or drops a database."""

    async def run() -> None:
        connection = await asyncpg.connect(url_of(postgres, "postgres"))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    asyncio.run(run())
