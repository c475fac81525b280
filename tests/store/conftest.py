"""Fixtures that store runs."""

from collections.abc import Awaitable, Callable

import pytest

from store.database import Database
from store.runs import runs
from store.runs.runs import NewJob, NewRun, StoredRun

STAGES = ("extract", "embed", "assemble")

StoreRun = Callable[..., Awaitable[StoredRun]]
"""The type of the fixture `store_run`."""


def new_run(
    subjects: tuple[str, ...] = ("316",), settings_hash: str = "s" * 64, stages: tuple[str, ...] = STAGES
) -> NewRun:
    """A run of these stages for each subject."""
    return NewRun(
        kind="participant",
        profile="demo",
        settings={},
        settings_hash=settings_hash,
        request={"split": "paper-test"},
        version="0",
        jobs=[NewJob(mode="few_shot", subject=subject, inputs={"n": 1}, stages=stages) for subject in subjects],
    )


@pytest.fixture
def store_run(database: Database) -> StoreRun:
    """Stores a run for each subject, of three stages unless others are named."""

    async def store(*subjects: str, stages: tuple[str, ...] = STAGES) -> StoredRun:
        async with database.connection() as connection:
            return await runs.store(connection, new_run(subjects or ("316",), stages=stages), always_new=True)

    return store


@pytest.fixture
async def one_run(store_run: StoreRun) -> StoredRun:
    """A run of one job, which has three stages."""
    return await store_run()


@pytest.fixture
def job_id(one_run: StoredRun) -> int:
    """The job of `one_run`."""
    return one_run.job_ids[0]
