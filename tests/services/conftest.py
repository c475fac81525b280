"""The fixture that stores runs, shared with the tests of the store."""

from tests.store.conftest import store_run

__all__ = ["store_run"]
