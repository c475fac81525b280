"""The breakable installation of the acceptance tests."""

from tests.acceptance.conftest import data_directory, evidence, ollama
from tests.acceptance.fault_tolerance.conftest import breakable, embedder, fault_tolerance_template, servers

__all__ = ["breakable", "data_directory", "embedder", "evidence", "fault_tolerance_template", "ollama", "servers"]
