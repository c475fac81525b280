"""Installations on servers of their own that may be broken, with short leases and heartbeats."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from store import migrate
from tests import run_folder
from tests.acceptance.fault_tolerance.breakable import BreakableInstallation, Servers
from tests.embedded import PostgresServer, ValkeyServer
from tests.scripted_ollama import ScriptedModel, ScriptedOllama

TEMPLATE = "fault_tolerance_template"

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """A Postgres and a Valkey that tests may kill, if they start them again."""
    with (
        PostgresServer(run_folder.new_folder()) as postgres,
        ValkeyServer(tmp_path_factory.mktemp("breakable_valkey")) as valkey,
    ):
        yield Servers(postgres, valkey)


@pytest.fixture(scope="session")
def embedder(ollama: ScriptedOllama) -> ScriptedModel:
    """The model that embeds everything here, so that no worker has to load one."""
    return ollama.model()


@pytest.fixture(scope="session")
def fault_tolerance_template(
    servers: Servers,
    ollama: ScriptedOllama,
    embedder: ScriptedModel,
    data_directory: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> str:
    """A database with the small data set and its index, for others to copy."""
    servers.administer(f'CREATE DATABASE "{TEMPLATE}"')
    migrate.upgrade(servers.database_url(TEMPLATE))
    with BreakableInstallation.on(
        servers, TEMPLATE, ollama=ollama, embedder=embedder, folder=tmp_path_factory.mktemp("indexing")
    ) as installation:
        installation.start_worker()
        installation.learn(data_directory)
    return TEMPLATE


@pytest.fixture
def breakable(
    servers: Servers, fault_tolerance_template: str, ollama: ScriptedOllama, embedder: ScriptedModel, tmp_path: Path
) -> Iterator[BreakableInstallation]:
    """An indexed installation without any worker, on an empty broker."""
    name = f"fault_tolerance_{next(_numbers)}"
    servers.administer(f'CREATE DATABASE "{name}" TEMPLATE "{fault_tolerance_template}" STRATEGY file_copy')
    servers.empty_broker()
    with BreakableInstallation.on(servers, name, ollama=ollama, embedder=embedder, folder=tmp_path) as installation:
        yield installation
