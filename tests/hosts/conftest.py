"""What the other acceptance tests submit."""

from tests.acceptance.conftest import data_directory, evidence

__all__ = ["data_directory", "evidence"]
