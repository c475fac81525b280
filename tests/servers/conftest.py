"""Servers of Debian's archive as people run them: `make servers-test` installs and tests them."""

from tests.acceptance.conftest import data_directory, evidence, ollama
from tests.acceptance.fault_tolerance.conftest import embedder, fault_tolerance_template, servers

__all__ = ["data_directory", "embedder", "evidence", "fault_tolerance_template", "ollama", "servers"]
