from collections.abc import Iterator

import pytest

from tests.served import Handler, served


class _OnlyVersion(Handler):
    def do_GET(self) -> None:
        self.send(200 if self.path == "/api/version" else 500)


@pytest.fixture(scope="session")
def ollama() -> Iterator[str]:
    """The address of a server that answers /api/version as Ollama does, and replies with errors elsewhere."""
    with served(_OnlyVersion) as url:
        yield url
