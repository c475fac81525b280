"""Runs to work on, as the tests of the store have them."""

from tests.store.conftest import store_run

__all__ = ["store_run"]
