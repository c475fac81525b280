"""Requests that are sent twice under one key create one row."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from tests.api.rest.rag.conftest import Ask, Working, waits_long
from tests.services.questions.questions import WHOLE

TO_CONSOLIDATE = WHOLE[:6]
KEY = {"Idempotency-Key": "3f1c9f6e-6a55-4a62-9b9d-0a8f6f0f2c11"}
QUESTION = {"corpus": "small", "original_query": "What is working memory?"}
PASTED = QUESTION | {"llm_response": '{"queries": ["working memory capacity"]}'}
REPLAYED = "idempotency-replayed"


async def sent_twice(client: httpx.AsyncClient, path: str, body: Mapping[str, Any]) -> httpx.Response:
    """The reply of the second request, which equals that of the first."""
    first = await client.post(path, json=body, headers=KEY)
    second = await client.post(path, json=body, headers=KEY)
    assert (first.status_code, REPLAYED in first.headers) == (200, False)
    assert (second.status_code, second.headers.get(REPLAYED)) == (200, "true")
    assert second.json() == first.json()
    return second


@pytest.mark.usefixtures("corpus")
async def test_a_pasted_question_is_made_once(client: httpx.AsyncClient) -> None:
    await sent_twice(client, "/rag/expansion/manual", PASTED)
    assert (await client.get("/rag/queries")).json()["total"] == 1


@waits_long
@pytest.mark.parametrize("step", ["augment/run", "run"])
async def test_an_answer_is_asked_for_once(client: httpx.AsyncClient, ask: Ask, working: Working, step: str) -> None:
    query = await ask(*TO_CONSOLIDATE)
    async with working():
        replayed = await sent_twice(client, f"/rag/queries/{query.id}/{step}", {})
        if step == "augment/run":
            another = await client.post(f"/rag/queries/{query.id}/{step}", json={})
            assert another.json()["result_id"] != replayed.json()["result_id"]
            await_old = await client.post(f"/rag/queries/{query.id}/{step}", json={}, headers=KEY)
            assert await_old.json() == replayed.json()


@waits_long
async def test_of_two_concurrent_requests_one_makes_the_answer_and_both_get_it(
    client: httpx.AsyncClient, ask: Ask, working: Working
) -> None:
    query = await ask(*TO_CONSOLIDATE)
    path = f"/rag/queries/{query.id}/augment/run"

    async with working():
        replies = await asyncio.gather(*(client.post(path, json={}, headers=KEY) for _ in range(3)))

    assert {reply.status_code for reply in replies} == {200}
    assert len({reply.json()["result_id"] for reply in replies}) == 1
    assert sorted(reply.headers.get(REPLAYED, "false") for reply in replies) == ["false", "true", "true"]
    assert (await client.get(f"/rag/queries/{query.id}/results")).json()["total"] == 1
