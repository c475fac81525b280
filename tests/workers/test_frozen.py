"""What a process remembers of its runs."""

import json

import pytest

from store.database import Database
from tests.store.conftest import StoreRun
from workers import ledger_chat
from workers.ledger_chat import Remembered
from workers.runner import frozen_run


async def test_runs_of_equal_settings_share_them(database: Database, store_run: StoreRun) -> None:
    first, second, third = [(await store_run("316")).run_id for _ in range(3)]
    async with database.connection() as connection:
        retries = json.dumps({"RAGQ_RETRIES": {"value": 7, "source": "environment"}})
        await connection.execute("UPDATE run SET settings = $2 WHERE id = $1", third, retries)
        found = [await frozen_run(connection, run_id) for run_id in (first, second, third)]

    assert found[0].settings is found[1].settings
    assert found[2].settings.run.ragq.retries == 7


async def test_what_was_forgotten_is_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_chat, "REMEMBERED", 1)
    remembered: Remembered[str, str] = Remembered()
    loaded: list[str] = []

    async def load(key: str) -> str:
        loaded.append(key)
        return key.upper()

    found = [await remembered.load(key, lambda key=key: load(key)) for key in "aabba"]  # type: ignore[misc]

    assert (found, loaded, len(remembered)) == ([*"AABBA"], [*"aba"], 1)
