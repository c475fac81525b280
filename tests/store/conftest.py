"""Fixtures that store runs."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pytest

from store.database import Database
from store.runs import runs
from store.runs.runs import NewJob, NewRun, StoredRun

STAGES = ("extract", "embed", "assemble")

StoreRun = Callable[..., Awaitable[StoredRun]]
"""The type of the fixture `store_run`."""


def new_run(
    subjects: Iterable[object] = ("316",),
    *,
    stages: Sequence[str] = STAGES,
    mode: str = "few_shot",
    inputs: Mapping[str, Any] = MappingProxyType({"n": 1}),
    **others: Any,
) -> NewRun:
    """A run of these stages for each subject, with `others` as they are given."""
    made = {
        "kind": "participant",
        "profile": "demo",
        "settings": {},
        "settings_hash": "s" * 64,
        "request": {"split": "paper-test"},
        "version": "0",
        "jobs": [NewJob(mode=mode, subject=str(one), inputs=dict(inputs), stages=stages) for one in subjects],
    }
    return NewRun(**made | others)


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
