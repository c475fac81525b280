"""The breakable installation of the acceptance tests."""

from tests.acceptance.conftest import data_directory, evidence, ollama
from tests.acceptance.fault_tolerance.conftest import breakable, embedder, servers, fault_tolerance_template

__all__ = ["breakable", "data_directory", "embedder", "evidence", "ollama", "servers", "fault_tolerance_template"]
