"""Messages are built from rows, and carry ids."""

import base64
import json
from typing import Any

import pytest
import redis

from stack.ports import free_port
from store.database import Database
from store.runs import jobs
from store.runs.runs import StoredRun
from tests.embedded import ValkeyServer
from tests.store.conftest import StoreRun
from workers.app import KEY_PREFIX, make_app
from workers.broker import FIRST, NORMAL, list_of
from workers.turns import send


@pytest.fixture(autouse=True)
def _empty(valkey: ValkeyServer) -> None:
    """Empty the queues of messages from other tests."""
    with redis.Redis.from_url(valkey.url) as client:
        client.flushdb()


def messages(valkey: ValkeyServer, queue: str, priority: int = NORMAL) -> list[dict[str, Any]]:
    """The messages that wait in a queue, first one first."""
    with redis.Redis.from_url(valkey.url) as client:
        held = client.lrange(f"{KEY_PREFIX}{list_of(queue, priority)}", 0, -1)
    found = [json.loads(message) for message in reversed(held)]
    return [message | {"body": json.loads(base64.b64decode(message["body"]))} for message in found]


async def chains(database: Database, stored: StoredRun) -> list[jobs.PendingChain]:
    async with database.connection() as connection:
        return await jobs.pending_chains(connection, stored.job_ids)


async def test_a_message_names_its_run_job_and_subject_and_nothing_else(
    database: Database, store_run: StoreRun, valkey: ValkeyServer
) -> None:
    stored = await store_run("316")
    (job_id,) = stored.job_ids

    assert send(make_app(valkey.url), await chains(database, stored)) == 1

    (message,) = messages(valkey, "extract")
    arguments, named, embedded = message["body"]
    assert (arguments, named) == ([], {"run": stored.run_id, "job": job_id, "subject": "316"})
    assert (message["headers"]["id"], message["headers"]["root_id"]) == (f"j{job_id}:extract:1", f"r{stored.run_id}")
    assert [stage["options"]["task_id"] for stage in reversed(embedded["chain"])] == [
        f"j{job_id}:embed:1",
        f"j{job_id}:assemble:1",
    ]
    assert [stage["kwargs"] for stage in embedded["chain"]] == [named, named]


async def test_every_stage_of_a_chain_has_the_priority_of_its_job(
    database: Database, store_run: StoreRun, valkey: ValkeyServer
) -> None:
    stored = await store_run("316", "319")

    send(make_app(valkey.url), await chains(database, stored), {stored.job_ids[1]: FIRST})

    assert [message["body"][1]["subject"] for message in messages(valkey, "extract")] == ["316"]
    (message,) = messages(valkey, "extract", FIRST)
    assert [stage["options"]["priority"] for stage in message["body"][2]["chain"]] == [FIRST, FIRST]


async def test_nothing_is_sent_to_an_unavailable_broker(database: Database, store_run: StoreRun) -> None:
    stored = await store_run("316", "319")
    nowhere = make_app(f"redis://127.0.0.1:{free_port()}/0")

    assert send(nowhere, await chains(database, stored)) == 0
