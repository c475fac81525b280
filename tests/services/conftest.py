"""Fixtures that store runs, shared with the tests of the store, and runs of the models of a scripted server."""

from collections.abc import Iterator

import pytest

from schemas.settings.resolve import resolve
from store.runs.runs import NewRun
from tests.scripted_ollama import ScriptedOllama
from tests.store.conftest import new_run, store_run

__all__ = ["store_run"]


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedOllama]:
    """The server that OLLAMA_HOST names."""
    with ScriptedOllama() as server:
        monkeypatch.setenv("OLLAMA_HOST", f"http://127.0.0.1:{server.port}")
        yield server


def paper_run(*stages: str, **options: str) -> NewRun:
    """A run of one participant with the profile `paper`."""
    return new_run(
        inputs={},
        stages=stages,
        profile="paper",
        settings=resolve(profile="paper", options=options, environment={}, env_file=None).snapshot(),
        request={"profile_source": "OLLAMA_HOST is set"},
    )
