"""Installations for the tests: one that most tests share, and fresh ones for those that kill or count everything."""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from schemas.settings.profiles import DEMO_MODEL
from tests import run_folder
from tests.acceptance.harness import Installation
from tests.acceptance.shelf import write_shelf
from tests.acceptance.small_data_set import evidence_of, small_files, write_files
from tests.brokers import broker_of_its_own
from tests.conftest import administer, url_of
from tests.embedded import PostgresServer, ValkeyServer
from tests.scripted_ollama import ScriptedModel, ScriptedOllama

Install: TypeAlias = Callable[[str], AbstractContextManager[Installation]]
"""Gives an installation on a fresh copy of a database, with a broker that is empty."""

FillOnce: TypeAlias = Callable[[str, Callable[[Installation], object]], str]
"""Gives the name of a database that is filled once for all processes of the tests."""

GiveEvidence: TypeAlias = Callable[[Mapping[int, int]], tuple[str, ...]]
"""Gives the options that submit participants with quotes for so many items each."""

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def ollama() -> Iterator[ScriptedOllama]:
    """A language model server whose replies the tests define. It has the model of profile `demo`."""
    with ScriptedOllama() as server:
        server.model(name=DEMO_MODEL)
        yield server


@pytest.fixture
def judge(ollama: ScriptedOllama) -> ScriptedModel:
    """A model that accepts every reference unless its `answer` is changed."""
    return ollama.model()


@pytest.fixture(scope="session")
def install(
    postgres: PostgresServer, valkey: ValkeyServer, ollama: ScriptedOllama, tmp_path_factory: pytest.TempPathFactory
) -> Install:
    """Makes installations on copies of a database of this session's Postgres."""

    @contextmanager
    def made(template: str) -> Iterator[Installation]:
        name = f"installation_{run_folder.worker()}_{next(_numbers)}"
        with broker_of_its_own(valkey) as broker:
            administer(postgres, f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy')
            folder = tmp_path_factory.mktemp("installation")
            with Installation(url_of(postgres, name), broker, ollama.port, folder) as installation:
                # The workers that filled the template may be of another process, with another language model.
                if installation.rows("SELECT to_regclass('worker') AS found")[0]["found"]:
                    installation.rows("DELETE FROM worker")
                yield installation

    return made


@pytest.fixture(scope="session")
def data_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small data set on disk."""
    return write_files(tmp_path_factory.mktemp("data") / "study", small_files())


@pytest.fixture(scope="session")
def fill_once(install: Install, migrated_template: str) -> FillOnce:
    """Makes databases for others to copy, with a worker that runs while they are filled."""

    def filled(name: str, fill: Callable[[Installation], object]) -> str:
        def build() -> str:
            with install(migrated_template) as installation:
                installation.start_worker()
                fill(installation)
            return installation.database

        return run_folder.once(name, build)

    return filled


@pytest.fixture(scope="session")
def indexed_template(fill_once: FillOnce, data_directory: Path) -> str:
    """A database with the small data set imported and its reference index built, for others to copy."""
    return fill_once("indexed_template", lambda installation: installation.learn(data_directory))


@pytest.fixture(scope="session")
def shared(install: Install, indexed_template: str) -> Iterator[Installation]:
    """An indexed installation with one worker, for tests that change nothing in it."""
    with install(indexed_template) as installation:
        installation.start_worker()
        yield installation


@pytest.fixture
def fresh(install: Install, indexed_template: str) -> Iterator[Installation]:
    """An indexed installation of one test's own, without any worker."""
    with install(indexed_template) as installation:
        yield installation


@pytest.fixture(scope="session")
def shelf_template(fill_once: FillOnce, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with the shelf imported and embedded, for others to copy."""
    works = write_shelf(tmp_path_factory.mktemp("works") / "shelf")
    command = ("import", "works", str(works), "--corpus", "shelf", "--wait")
    return fill_once("shelf_template", lambda installation: installation.do(*command))


@pytest.fixture
def shelved(install: Install, shelf_template: str) -> Iterator[Installation]:
    """An installation of one test's own with the shelf in it, without any worker."""
    with install(shelf_template) as installation:
        yield installation


@pytest.fixture(scope="session")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> GiveEvidence:
    """Writes evidence files: `evidence({316: 2})` quotes participant 316 for two items."""
    folder = tmp_path_factory.mktemp("evidence")

    def write(items: Mapping[int, int]) -> tuple[str, ...]:
        path = folder / f"{next(_numbers)}.json"
        path.write_text(json.dumps(evidence_of(items)))
        return ("--participants", ",".join(map(str, items)), "--evidence", str(path))

    return write
