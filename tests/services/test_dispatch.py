"""Messages are built from rows, and carry ids."""

import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import redis

from services.dispatch import enqueue
from stack.ports import free_port
from stack.valkey import ValkeyServer
from store.database import Database
from store.runs import pending_chains, stages
from store.runs.runs import StoredRun
from workers.app import KEY_PREFIX, make_app
from workers.messages import send

StoreRun = Callable[..., Awaitable[StoredRun]]


@pytest.fixture(autouse=True)
def _empty(valkey: ValkeyServer) -> None:
    """Nothing waits that another test has sent."""
    with redis.Redis.from_url(valkey.url) as client:
        client.flushdb()


def messages(valkey: ValkeyServer, queue: str) -> list[dict[str, Any]]:
    """The messages that wait in a queue, first one first."""
    with redis.Redis.from_url(valkey.url) as client:
        held = client.lrange(f"{KEY_PREFIX}{queue}", 0, -1)
    found = [json.loads(message) for message in reversed(held)]
    return [message | {"body": json.loads(base64.b64decode(message["body"]))} for message in found]


async def chains(database: Database, stored: StoredRun) -> list[pending_chains.PendingChain]:
    async with database.connection() as connection:
        return await pending_chains.pending_chains(connection, stored.job_ids)


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


async def test_a_chain_starts_at_the_first_stage_that_is_not_done(
    database: Database, store_run: StoreRun, valkey: ValkeyServer
) -> None:
    stored = await store_run()
    async with database.connection() as connection:
        claim = await stages.claim(connection, stored.job_ids[0], "extract", "worker", 60)
        assert claim is not None
        await stages.commit(connection, claim, inputs={}, output={})

    send(make_app(valkey.url), await chains(database, stored))

    (message,) = messages(valkey, "embed")
    assert message["headers"]["id"] == f"j{stored.job_ids[0]}:embed:1"
    assert [stage["task"] for stage in message["body"][2]["chain"]] == ["ragq.assemble"]


async def test_a_broker_that_is_away_gets_nothing_and_nobody_is_hurt(database: Database, store_run: StoreRun) -> None:
    stored = await store_run("316", "319")
    nowhere = make_app(f"redis://127.0.0.1:{free_port()}/0")

    assert send(nowhere, await chains(database, stored)) == 0


async def test_a_job_is_set_off_from_where_it_stands(
    database: Database, store_run: StoreRun, valkey: ValkeyServer
) -> None:
    stored = await store_run()

    assert await enqueue(make_app(valkey.url), database, stored.job_ids[0])

    (message,) = messages(valkey, "extract")
    assert message["body"][1]["job"] == stored.job_ids[0]
    assert not await enqueue(make_app(f"redis://127.0.0.1:{free_port()}/0"), database, stored.job_ids[0])
