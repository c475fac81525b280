"""The steps of a question over REST: started once, waited for, and their replies; and changes of questions."""

import asyncio
import itertools
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message

from schemas.errors import NothingRelevantError
from schemas.values.runs import AttemptError
from store.database import Connection
from store.questions.queries import StoredQuery
from store.runs import jobs, runs
from tests.api.rest.problems import problem
from tests.api.rest.rag.conftest import Ask, Working
from tests.services.questions.questions import WHOLE, chain

TO_VALIDATE = WHOLE[:5]
TO_CONSOLIDATE = WHOLE[:6]
RUN = "/rag/expansion/run"
QUERIES = "/rag/queries"
AT_ONCE = {"Prefer": "respond-async"}

SMALL: dict[str, Any] = {"corpus": "small", "query": "What is working memory?"}


def path(query_id: int, step: str) -> str:
    return f"/rag/queries/{query_id}/{step}"


async def on_its_way(client: httpx.AsyncClient, query: StoredQuery, **headers: str) -> asyncio.Task[httpx.Response]:
    """A request for the step `embed`, whose job waits for a worker."""
    waiting = asyncio.create_task(client.post(path(query.id, "embed"), headers=headers))
    async with asyncio.timeout(30):
        for _ in itertools.count():
            if (await client.get(f"/jobs/{query.job_id}")).json()["status"] == "waiting":
                break
    return waiting


async def test_what_cannot_be_asked_for_is_refused_and_nothing_runs(
    client: httpx.AsyncClient, connection: Connection, ask: Ask
) -> None:
    query = await ask(*TO_CONSOLIDATE)
    for step, params, body, status in [
        ("augment/run", {"top_n": 0}, None, 422),
        ("augment/run", {}, {"top_n": 0}, 422),
        ("augment/run", {}, {"model": "other"}, 422),
        ("augment/run", {"top_n": 2}, {"top_n": 3}, 422),
        ("augment/manual", {}, {"response_text": ""}, 422),
        ("augment/manual", {}, {"response_text": "By oxygen.", "top_n": 0}, 422),
        ("augment/manual", {}, {"response_text": "  \n "}, 400),
    ]:
        reply = await client.post(path(query.id, step), params=params, json=body)

        assert reply.status_code == status
        assert await chain(connection, query.job_id) == dict.fromkeys(TO_CONSOLIDATE, "done")
        assert (await client.get(path(query.id, "results"))).json()["total"] == 0


async def test_without_a_worker_a_step_is_pending_and_links_to_its_job(
    client: httpx.AsyncClient, connection: Connection, ask: Ask
) -> None:
    for step, done, due in [
        ("retrieve", WHOLE[:2], ("retrieve", "rerank", "validate")),
        ("augment/run", TO_CONSOLIDATE, ("augment", "generate")),
    ]:
        query = await ask(*done)

        reply = await client.post(path(query.id, step), headers=AT_ONCE)

        assert (reply.status_code, reply.headers["location"]) == (202, f"/jobs/{query.job_id}")
        started = reply.json()
        assert set(started) == {"success", "query_id", "run_id", "job_id", "message"}
        assert (started["job_id"], started["query_id"], started["success"]) == (query.job_id, query.id, False)
        assert (await client.get(reply.headers["location"])).json()["status"] == "waiting"
        first, *later = due
        waiting = {first: "ready"} | dict.fromkeys(later, "waiting")
        assert await chain(connection, query.job_id) == dict.fromkeys(done, "done") | waiting


async def test_a_stage_that_fails_during_the_wait_is_a_problem_with_the_next_step(
    client: httpx.AsyncClient, ask: Ask, working: Working
) -> None:
    for step, done, stage, error, expected in [
        ("consolidate", TO_VALIDATE, "consolidate", "WorkChangedError", (409, "work-changed")),
        ("augment/run", TO_CONSOLIDATE, "generate", "LLMTimeoutError", (500, "step-failed")),
        ("embed", ("expand",), "embed", "ErrorOfAnotherLibrary", (500, "step-failed")),
    ]:
        query = await ask(*done)

        broken = AttemptError(f"schemas.errors.{error}", "It broke.", "unknown", {"raw": "private"})
        async with working(fails={stage: broken}):
            reply = await client.post(path(query.id, step))

        assert problem(reply) == expected
        about = {"query_id": query.id, "job_id": query.job_id, "stage": stage, "error_type": error}
        assert reply.json().items() >= about.items()
        assert f"failed with {error}: It broke." in reply.json()["detail"]
        assert f"ragq retry j{query.job_id}" in reply.json()["detail"]
        assert "private" not in reply.text


async def test_a_concurrent_change_to_the_question_ends_the_wait(client: httpx.AsyncClient, ask: Ask) -> None:
    cancelled, deleted = await ask("expand"), await ask("expand")
    first, second = await on_its_way(client, cancelled), await on_its_way(client, deleted)

    assert (await client.post(f"/jobs/{cancelled.job_id}/cancel")).status_code == 200
    assert (await client.delete(f"/rag/queries/{deleted.id}")).status_code == 204

    assert [problem(await one) for one in (first, second)] == [(409, "step-superseded"), (404, "query-missing")]


async def test_a_step_continues_when_its_client_leaves(
    app: FastAPI, client: httpx.AsyncClient, ask: Ask, working: Working
) -> None:
    query = await ask("expand")
    sent = [{"type": "http.request", "body": b"", "more_body": False}]
    replies: list[Message] = []

    async def receive() -> Message:
        return sent.pop() if sent else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        replies.append(message)

    scope = {"type": "http", "method": "POST", "path": path(query.id, "embed"), "query_string": b"", "scheme": "http"}
    async with asyncio.timeout(30):
        await app(scope | {"headers": [(b"host", b"127.0.0.1")], "client": ("127.0.0.1", 1)}, receive, send)

    assert (await client.get(f"/jobs/{query.job_id}")).json()["status"] == "waiting"
    async with working(), asyncio.timeout(30):
        while (rest := await client.post(path(query.id, "run"))).status_code == 409:  # noqa: ASYNC110  (a worker has it)
            await asyncio.sleep(0.05)
    assert rest.status_code == 200


async def test_a_step_takes_another_preset_and_other_values(
    client: httpx.AsyncClient, ask: Ask, working: Working
) -> None:
    values = {"settings": {"retrieval.min_word_count": 0}}
    for step, done in (("retrieve", WHOLE[:2]), ("consolidate", TO_VALIDATE), ("augment/run", TO_CONSOLIDATE)):
        query = await ask(*done)

        async with working():
            reply = await client.post(path(query.id, step), params={"config_preset": "Original"}, json=values)

        assert reply.status_code == 200
        settings = (await client.get(f"/runs/{reply.json()['run_id']}?settings=true")).json()["settings"]
        assert settings["retrieval.min_word_count"] == {"value": 0, "source": "option"}
        assert settings["retrieval.fusion"] == {"value": "rrf", "source": "preset Original"}


async def test_nothing_relevant_is_no_fault_of_the_server_and_names_the_way_out(
    client: httpx.AsyncClient, ask: Ask, working: Working
) -> None:
    query = await ask("expand", "embed")
    error = NothingRelevantError("Stage 'rerank' dropped all 4 retrieved chunks", "retrieval.min_word_count=0")
    error.advise(query.id, query.job_id, "rerank")
    failure = AttemptError("schemas.errors.NothingRelevantError", str(error), "nothing_relevant", {})

    async with working({"rerank": failure}):
        failed = await client.post(path(query.id, "retrieve"))
    shown = (await client.get(f"{QUERIES}/{query.id}")).json()
    async with working():
        again = await client.post(path(query.id, "run"), json={"settings": {"retrieval.min_word_count": 0}})

    assert (problem(failed), failed.json()["stage"]) == ((422, "nothing-relevant"), "rerank")
    assert "--set retrieval.min_word_count=0" in failed.json()["detail"]
    assert f"`POST /rag/queries/{query.id}/run`" in failed.json()["detail"]
    assert again.status_code == 200
    assert (shown["status"], shown["job_status"]) == ("needs_retrieval", "failed")
    assert shown["error"] == {
        "stage": "rerank",
        "attempt": 1,
        "type": failure.type,
        "message": failure.message,
        "category": failure.category,
    }


@pytest.mark.usefixtures("corpus")
async def test_the_model_and_the_number_of_phrases_of_an_expansion_can_be_chosen(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    cases: list[tuple[dict[str, Any], bool | None, dict[str, Any]]] = [
        ({"use_full_model": False}, True, {"value": 3, "source": "preset Balanced"}),
        ({"use_full_model": True, "n": 2}, None, {"value": 2, "source": "option"}),
        ({"use_full_model": None}, None, {"value": 3, "source": "preset Balanced"}),
    ]
    for body, light, n in cases:
        asked = (await client.post(RUN, json=SMALL | body, headers=AT_ONCE)).json()

        assert (await jobs.get(connection, asked["job_id"])).inputs.get("light_model") is light
        assert (await runs.settings(connection, asked["run_id"]))["expansion.n"] == n


@pytest.mark.usefixtures("corpus")
async def test_nothing_is_stored_of_an_expansion_that_failed_or_cannot_be_used(
    client: httpx.AsyncClient, working: Working
) -> None:
    for error, status, kind in [
        ("LLMResponseParseError", 400, "expansion-unusable"),
        ("ReplyShapeError", 400, "expansion-unusable"),
        ("LLMTimeoutError", 500, "expansion-failed"),
    ]:
        failure = AttemptError(f"schemas.errors.{error}", "It cannot be used: no object", "parse", {"raw": "secret"})
        async with working(fails={"expand": failure}):
            reply = await client.post(RUN, json=SMALL)

        assert problem(reply) == (status, kind)
        assert (reply.json()["stage"], reply.json()["error_type"]) == ("expand", error)
        assert "secret" not in reply.text
        assert "POST /rag/expansion/manual" in reply.json()["detail"]
    for pasted in ["Here are the expanded queries...", "{}", '{"queries": [1]}', "  "]:
        refused = await client.post("/rag/expansion/manual", json=SMALL | {"llm_response": pasted})
        assert problem(refused) == (400, "reply-unusable")
        assert "expanded queries" not in refused.text
    assert (await client.get("/rag/queries")).json()["total"] == 0
    assert (await client.get("/runs")).json()["items"] == []


async def test_passages_are_kept_as_they_were_read_and_never_changed(client: httpx.AsyncClient, ask: Ask) -> None:
    query = await ask(*WHOLE[:6])
    first, second, _ = (await client.get(f"{QUERIES}/{query.id}")).json()["clean_retrieval_context"]

    for _ in range(2):
        kept = await client.patch(f"{QUERIES}/{query.id}", json={"clean_retrieval_context": [second, first]})
        assert kept.json()["clean_retrieval_context"] == [second, first]
    changed = [second, first | {"content": "Mine."}]
    refused = await client.patch(f"{QUERIES}/{query.id}", json={"clean_retrieval_context": changed})
    assert (problem(refused), "entry 2" in refused.text) == ((422, "query-value-unusable"), True)


PASTED = SMALL | {"llm_response": '{"queries": ["working memory capacity"]}'}
REPLAYED = "idempotency-replayed"


def key_of(path: str) -> dict[str, str]:
    """The header of a key that no other request has."""
    return {"Idempotency-Key": path}


async def sent_twice(client: httpx.AsyncClient, path: str, body: Mapping[str, Any]) -> httpx.Response:
    """The reply of the second request, which equals that of the first."""
    first, second = [await client.post(path, json=body, headers=key_of(path)) for _ in range(2)]
    assert (first.status_code, REPLAYED in first.headers) == (200, False)
    assert (second.status_code, second.headers.get(REPLAYED)) == (200, "true")
    assert second.json() == first.json()
    return second


@pytest.mark.usefixtures("corpus")
async def test_a_pasted_question_and_an_answer_are_made_once_for_a_key(
    client: httpx.AsyncClient, ask: Ask, working: Working
) -> None:
    await sent_twice(client, "/rag/expansion/manual", PASTED)
    assert (await client.get("/rag/queries")).json()["total"] == 1
    for step in ("augment/run", "run"):
        query = await ask(*TO_CONSOLIDATE)
        at = path(query.id, step)
        async with working():
            replayed = await sent_twice(client, at, {})
            if step == "augment/run":
                another = await client.post(at, json={})
                assert another.json()["result_id"] != replayed.json()["result_id"]
                await_old = await client.post(at, json={}, headers=key_of(at))
                assert await_old.json() == replayed.json()


async def test_of_concurrent_requests_one_makes_the_answer_and_all_get_it(
    client: httpx.AsyncClient, ask: Ask, working: Working
) -> None:
    query = await ask(*TO_CONSOLIDATE)
    at = path(query.id, "augment/run")

    async with working():
        sent = (client.post(at, json={}, headers=key_of(at)) for _ in range(3))
        replies = await asyncio.gather(*sent)

    assert {reply.status_code for reply in replies} == {200}
    assert len({reply.json()["result_id"] for reply in replies}) == 1
    assert sorted(reply.headers.get(REPLAYED, "false") for reply in replies) == ["false", "true", "true"]
    assert (await client.get(path(query.id, "results"))).json()["total"] == 1
