import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import run_folder
from tests.served import Handler, served


@contextmanager
def _folder_for_everybody() -> Iterator[Path]:
    folder = run_folder.new_folder()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter; pytest's own is closed."""
    with _folder_for_everybody() as folder:
        yield folder


@pytest.fixture(scope="module")
def module_folder() -> Iterator[Path]:
    """As open_folder, for a whole module."""
    with _folder_for_everybody() as folder:
        yield folder


class _OnlyVersion(Handler):
    def do_GET(self) -> None:
        self.send(200 if self.path == "/api/version" else 500)


@pytest.fixture(scope="session")
def ollama() -> Iterator[str]:
    """The address of a server that answers /api/version as Ollama does, and replies with errors elsewhere."""
    with served(_OnlyVersion) as url:
        yield url
