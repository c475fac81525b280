"""Real servers for the tests: one Postgres a run, one Valkey a process, one fresh database a test that asks for it."""

import asyncio
import gc
import itertools
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import asyncpg
import pytest
from hypothesis import HealthCheck, settings

from store import migrate
from store.database import Connection, Database
from tests import run_folder
from tests.embedded import PostgresServer, ValkeyServer
from tests.started import started_llm_server
from tests.store.conftest import job_id, one_run, store_run

__all__ = ["job_id", "one_run", "store_run"]

_numbers = itertools.count(1)

#: Kept for the whole run: nearly each test makes and drops a database.
_administration = asyncio.Runner(loop_factory=asyncio.new_event_loop)
_administrators: dict[str, asyncpg.Connection] = {}

#: Fixtures that start a server or a browser, directly or through others.
_SERVERS = frozenset({"postgres", "valkey", "servers", "ollama_url", "browser", "running"})
#: Folders of long tests. Each process begins with one of these groups; the first one waits for most of its time.
_LONG = (
    ("tests/acceptance/fault_tolerance/", "tests/chaos/"),
    ("tests/browser/",),
    ("tests/acceptance/",),
    ("tests/stack/", "tests/cli/", "tests/contracts/", "tests/api/"),
)


#: It changes what stages do when it is imported, which is for workers to do.
collect_ignore = ["acceptance/broken_stages.py"]


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder of the run, in the main process."""
    if not hasattr(config, "workerinput"):
        # As many threads as cores in each of several processes would wait for each other.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        run_folder.make()
    # How long an example takes says more of the other processes than of the code.
    # Each run draws others: half as many are enough.
    settings.register_profile("tests", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("tests")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage until all modules are imported, and never look at their objects again."""
    gc.disable()
    collected = yield
    gc.freeze()
    gc.enable()
    return collected


def pytest_unconfigure(config: pytest.Config) -> None:
    """End every process and remove the folder, however the tests ended."""
    if not hasattr(config, "workerinput"):
        run_folder.end_all()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that use servers, and order all. Tests that start servers themselves have the marker."""
    for item in items:
        if isinstance(item, pytest.Function) and not _SERVERS.isdisjoint(item.fixturenames):
            item.add_marker(pytest.mark.servers)
    items[:] = _ordered(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def _ordered(items: list[pytest.Item], processes: int) -> Iterator[pytest.Item]:
    """The tests for processes that get equal shares, one after the other: long tests, then as many others.

    A process that has finished its share takes the last tests of another.
    """
    shares: list[list[pytest.Item]] = [[] for _ in range(processes)]
    quick: list[pytest.Item] = []
    for item in items:
        group = next((number for number, folders in enumerate(_LONG) if item.nodeid.startswith(folders)), None)
        (quick if group is None else shares[group % processes]).append(item)
    for number, share in enumerate(shares, start=1):
        missing = max(len(items) // processes - len(share), 0) if number < processes else len(quick)
        yield from (*share, *quick[:missing])
        del quick[:missing]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running throw-away Postgres, which all processes of the run share. It ends with the run."""

    def start() -> str:
        folder = str(run_folder.path() / "postgres")
        # Started by another process, since this one may end before the others.
        subprocess.run([sys.executable, "-m", "tests.shared_postgres", folder], check=True)
        return folder

    yield PostgresServer(Path(run_folder.once("postgres.started", start)))
    for connection in _administrators.values():
        _administration.run(connection.close())
    _administration.close()


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    """A running throw-away broker, of this process alone: a broker has 16 databases."""
    with ValkeyServer(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture(scope="session")
def ollama_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The embedded LLM server over the packaged models."""
    with started_llm_server(tmp_path_factory.mktemp("llm_server") / "log") as server:
        yield server.url


@pytest.fixture(scope="session")
def migrated_template(postgres: PostgresServer) -> str:
    """A database with every table and no rows, cloned for each test that needs one."""

    def build() -> str:
        name = "migrated"
        administer(postgres, f'CREATE DATABASE "{name}"')
        migrate.upgrade(url_of(postgres, name))
        return name

    return run_folder.once("migrated_template", build)


@pytest.fixture
def database_url(postgres: PostgresServer, migrated_template: str) -> Iterator[str]:
    """The URL of a fresh migrated database."""
    name = f"test_{run_folder.worker()}_{next(_numbers)}"
    administer(postgres, f'CREATE DATABASE "{name}" TEMPLATE "{migrated_template}" STRATEGY file_copy')
    yield url_of(postgres, name)
    administer(postgres, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    connected = Database(database_url, pool_size=4)
    yield connected
    await connected.close()


@pytest.fixture
async def connection(database: Database) -> AsyncIterator[Connection]:
    """A connection to it, open for the whole test."""
    async with database.connection() as opened:
        yield opened


def url_of(postgres: PostgresServer, name: str) -> str:
    return postgres.url.rsplit("/", 1)[0] + f"/{name}"


def administer(postgres: PostgresServer, statement: str) -> None:
    async def run() -> None:
        url = url_of(postgres, "postgres")
        if url not in _administrators:
            _administrators[url] = await asyncpg.connect(url)
        await _administrators[url].execute(statement)

    _administration.run(run())
