"""Fixtures that store runs, shared with the tests of the store."""

from tests.store.conftest import job_id, one_run, store_run

__all__ = ["job_id", "one_run", "store_run"]
