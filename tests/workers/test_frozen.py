"""What a process remembers of its runs."""

import json

import pytest

from store.database import Database
from tests.store.conftest import StoreRun
from workers import frozen as module
from workers.frozen import FrozenRuns


async def test_runs_of_equal_settings_share_them(database: Database, store_run: StoreRun) -> None:
    first, second, third = [(await store_run("316")).run_id for _ in range(3)]
    async with database.connection() as connection:
        retries = json.dumps({"RAGQ_RETRIES": {"value": 7, "source": "environment"}})
        await connection.execute("UPDATE run SET settings = $2 WHERE id = $1", third, retries)
    frozen = FrozenRuns(database)

    assert (await frozen.get(first)).settings is (await frozen.get(second)).settings
    assert (await frozen.get(third)).settings.run.ragq.retries == 7


async def test_a_forgotten_run_is_read_again(
    database: Database, store_run: StoreRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 1)
    run_ids = [(await store_run("316")).run_id for _ in range(2)]
    frozen = FrozenRuns(database)

    read = [await frozen.get(run_id) for run_id in (*run_ids, *run_ids)]

    assert len(frozen) == 1
    assert read[:2] == read[2:]
