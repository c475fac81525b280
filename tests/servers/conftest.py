"""Servers of Debian's archive as people run them: `make servers-test` installs and tests them."""

from pathlib import Path

import pytest

from tests.acceptance.conftest import data_directory, evidence, ollama
from tests.acceptance.fault_tolerance.breakable import BreakableInstallation, Servers
from tests.acceptance.fault_tolerance.conftest import embedder, fault_tolerance_template, servers
from tests.scripted_ollama import ScriptedModel, ScriptedOllama

__all__ = ["data_directory", "embedder", "evidence", "fault_tolerance_template", "ollama", "servers"]


@pytest.fixture
def made(servers: Servers, ollama: ScriptedOllama, embedder: ScriptedModel, tmp_path: Path) -> BreakableInstallation:
    """An installation whose database or broker is to be replaced, with an empty broker."""
    servers.empty_broker()
    return BreakableInstallation.on(servers, "unused", ollama=ollama, embedder=embedder, folder=tmp_path)
