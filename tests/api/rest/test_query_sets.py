"""Sets of questions over REST."""

from typing import Any

import httpx
import pytest

from store.database import Connection
from store.runs import jobs
from tests.services.questions.questions import store_small_corpus

SETS = "/rag/query-sets/runs"
LINES = [{"id": "tea", "text": "Why is tea dark?"}, {"id": "arch", "text": "What holds an arch?"}]
SET: dict[str, Any] = {"queries": LINES, "corpus": "small", "until": "retrieve"}


@pytest.fixture(autouse=True)
async def corpus(connection: Connection) -> None:
    await store_small_corpus(connection)


async def test_a_set_is_one_run_with_a_job_per_question(client: httpx.AsyncClient, connection: Connection) -> None:
    reply = await client.post(SETS, json=SET | {"expand": False})

    made = reply.json()
    assert (reply.status_code, reply.headers["location"]) == (201, f"/runs/{made['run_id']}")
    assert (made["is_new"], made["jobs"]) == (True, 2)
    listed = (await client.get("/rag/queries")).json()["queries"]
    assert {line["original_query"] for line in listed} == {line["text"] for line in LINES}
    assert len(await jobs.in_order(connection, made["run_id"], limit=9)) == 2
    shown = (await client.get(f"/runs/{made['run_id']}")).json()
    assert [job["subject"] for job in shown["jobs"]] == ["tea", "arch"]


async def test_a_set_with_a_key_is_submitted_once(client: httpx.AsyncClient) -> None:
    key = {"Idempotency-Key": "set-1"}
    first, second = [await client.post(SETS, json=SET | {"always_new": True}, headers=key) for _ in range(2)]

    assert second.json()["run_id"] == first.json()["run_id"]
    assert second.headers["idempotency-replayed"] == "true"


async def test_what_the_command_refuses_is_refused(client: httpx.AsyncClient) -> None:
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({"queries": [LINES[0], LINES[0]]}, 422, "an id of its own"),
        ({"queries": [{"id": "my question", "text": "Why?"}]}, 409, "query ids cannot be used"),
        ({"judgements": [{"query_id": "none", "document": "d", "relevance": 1}]}, 422, "of the set alone"),
        ({"judgements": [{"query_id": "tea", "document": "d", "relevance": 1}] * 2}, 422, "once for a question"),
        ({"corpus": "nowhere"}, 404, "There is no corpus"),
        ({"config_preset": "none"}, 404, "There is no preset"),
        ({"settings": {"retrieval.dense_limit": 101}}, 422, "retrieval.dense_limit"),
    ]
    for change, status, words in cases:
        reply = await client.post(SETS, json=SET | change)

        assert (reply.status_code, words in reply.text) == (status, True), reply.text
        assert (await client.get("/runs")).json()["runs"] == []
