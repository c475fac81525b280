"""The prompt, pasted answers, and the answers of a question over REST."""

from typing import Any

import httpx

from store.database import Connection
from store.runs import attempts
from tests.api.rest.rag.conftest import Ask
from tests.services.questions.questions import WHOLE

TO_CONSOLIDATE = WHOLE[:6]

RESULT_FIELDS = {
    *("id", "query_id", "response_text", "created_at", "updated_at"),
    *("origin", "model", "is_light", "preset", "prompt_hash", "sources", "cited", "unknown_citations"),
    *("is_cut", "basis", "notes"),
}


async def paste(client: httpx.AsyncClient, query_id: int, text: str, **more: Any) -> int:
    body = {"response_text": text, **more}
    reply = await client.post(f"/rag/queries/{query_id}/augment/manual", json=body)
    assert reply.status_code == 200, reply.text
    result_id: int = reply.json()["result_id"]
    return result_id


async def test_the_prompt_shows_as_many_sources_as_are_asked_for(client: httpx.AsyncClient, ask: Ask) -> None:
    query = await ask(*TO_CONSOLIDATE)
    for params, shown in [({}, 3), ({"top_n": 2}, 2), ({"top_n": 20}, 3)]:
        reply = await client.get(f"/rag/queries/{query.id}/augment/prompt", params=params)

        assert reply.status_code == 200
        found = reply.json()
        assert (found["query_id"], found["original_query"]) == (query.id, "Why is tea dark?")
        assert (found["context_count"], found["available_context_count"]) == (shown, 3)
        assert found["context_source"] == "consolidated"
        assert [source["label"] for source in found["sources"]] == [f"S{number}" for number in range(1, shown + 1)]
        assert all(f"passage {place}" in found["prompt"] for place in range(1, shown + 1))


async def test_a_pasted_answer_is_saved_with_the_sources_it_was_shown(
    client: httpx.AsyncClient, connection: Connection, ask: Ask
) -> None:
    query = await ask(*TO_CONSOLIDATE)

    body = {"response_text": "Working memory is a cognitive system... [S1][S3]", "top_n": 2}
    reply = await client.post(f"/rag/queries/{query.id}/augment/manual", json=body)

    assert reply.status_code == 200
    saved = reply.json()
    assert saved == {
        "query_id": query.id,
        "result_id": saved["result_id"],
        "success": True,
        "message": "Response saved successfully",
    }
    result = (await client.get(f"/rag/queries/{query.id}/results/{saved['result_id']}")).json()
    assert set(result) == RESULT_FIELDS
    assert (result["response_text"], result["origin"], result["model"]) == (body["response_text"], "pasted", None)
    assert ([source["label"] for source in result["sources"]], result["unknown_citations"]) == (["S1", "S2"], ["S3"])
    stored = await attempts.output(connection, query.job_id, "augment")
    assert stored is not None
    assert stored.value["top_n"] == 2


async def test_an_answer_that_cannot_be_saved_is_refused(client: httpx.AsyncClient, ask: Ask) -> None:
    query = await ask(*TO_CONSOLIDATE)
    for body, status in [
        ({"response_text": ""}, 422),
        ({"response_text": "By oxygen.", "top_n": 0}, 422),
        ({"response_text": "  \n "}, 400),
    ]:
        reply = await client.post(f"/rag/queries/{query.id}/augment/manual", json=body)
        assert reply.status_code == status
        assert (await client.get(f"/rag/queries/{query.id}/results")).json()["total"] == 0


async def test_the_answers_are_listed_newest_first(client: httpx.AsyncClient, ask: Ask) -> None:
    query = await ask(*TO_CONSOLIDATE)
    first = await paste(client, query.id, "By steeping.")
    second = await paste(client, query.id, "With water.")

    listed = (await client.get(f"/rag/queries/{query.id}/results")).json()

    assert (listed["query_id"], listed["total"]) == (query.id, 2)
    assert [result["id"] for result in listed["results"]] == [second, first]
    assert {frozenset(result) for result in listed["results"]} == {frozenset(RESULT_FIELDS)}
    assert (await client.get("/rag/queries")).json()["queries"][0]["results_count"] == 2
