"""The steps of a question over REST: started, waited for, and their replies."""

import asyncio
import itertools
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message

from schemas.errors import NothingRelevantError
from schemas.values.runs import AttemptError
from store.database import Connection
from store.questions.queries import StoredQuery
from tests.api.rest.problems import problem, slug
from tests.api.rest.rag.conftest import ANSWER, Ask, Working, waits_long
from tests.services.questions.questions import WHOLE, chain

TO_VALIDATE = WHOLE[:5]
TO_CONSOLIDATE = WHOLE[:6]
AT_ONCE = {"Prefer": "respond-async"}

EMBED = ("embed", ("expand",), ("embed",))
RETRIEVE = ("retrieve", ("expand", "embed"), ("retrieve", "rerank", "validate"))
CONSOLIDATE = ("consolidate", TO_VALIDATE, ("consolidate",))
RUN = ("augment/run", TO_CONSOLIDATE, ("augment", "generate"))


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


REPLIES: dict[str, dict[str, Any]] = {
    "embed": {
        "message": "Query vectorized successfully",
        "vector_status": "vec",
        "total_embeddings": 4,
        "original_count": 1,
        "mqe_count": 2,
        "hyde_count": 1,
    },
    "retrieve": {
        "message": "Retrieved 3 chunks",
        "chunks_retrieved": 3,
        "total_dense_candidates": 5,
        "total_lexical_candidates": 1,
        "rrf_candidates": 4,
        "final_count": 3,
        "dropped_chunks": {"min_chars": 1},
        "kept_short": {},
    },
    "consolidate": {
        "message": "Consolidated 3 chunks into 3 groups",
        "original_count": 3,
        "consolidated_count": 3,
        "dropped_passages": 0,
    },
}


@waits_long
@pytest.mark.parametrize(("step", "done", "_due"), [EMBED, RETRIEVE, CONSOLIDATE])
async def test_a_step_replies_as_the_seed_and_the_code_do(
    client: httpx.AsyncClient, ask: Ask, working: Working, step: str, done: tuple[str, ...], _due: tuple[str, ...]
) -> None:
    query = await ask(*done)

    async with working():
        reply = await client.post(path(query.id, step))

    assert reply.status_code == 200
    ids = {"query_id": query.id, "run_id": query.run_id, "job_id": query.job_id}
    assert reply.json() == {"success": True} | ids | REPLIES[step]


@waits_long
@pytest.mark.parametrize("body", [{"top_n": 5, "use_full_model": False, "force": True}, None])
async def test_an_answer_replies_as_the_seed_and_the_code_do(
    client: httpx.AsyncClient, ask: Ask, working: Working, body: dict[str, Any] | None
) -> None:
    query = await ask(*TO_CONSOLIDATE)

    async with working():
        reply = await client.post(path(query.id, "augment/run"), json=body)

    assert reply.status_code == 200
    answered = reply.json()
    assert (answered["success"], answered["query_id"]) == (True, query.id)
    assert (answered["response_text"], answered["model"]) == (ANSWER.text, "tiny")
    assert [source["label"] for source in answered["sources"]] == ["S1"]
    assert (answered["cited"], answered["unknown_citations"]) == (["S1"], ["S9"])
    read = (await client.get(path(query.id, f"results/{answered['result_id']}"))).json()
    assert read["response_text"] == ANSWER.text


async def test_what_cannot_be_asked_for_is_refused_and_nothing_runs(
    client: httpx.AsyncClient, connection: Connection, ask: Ask
) -> None:
    query = await ask(*TO_CONSOLIDATE)
    for params, body in [
        ({"top_n": 0}, None),
        ({}, {"top_n": 0}),
        ({}, {"model": "other"}),
        ({"top_n": 2}, {"top_n": 3}),
    ]:
        reply = await client.post(path(query.id, "augment/run"), params=params, json=body)

        assert reply.status_code == 422
        assert await chain(connection, query.job_id) == dict.fromkeys(TO_CONSOLIDATE, "done")


@pytest.mark.parametrize(("step", "done", "due"), [EMBED, RETRIEVE, CONSOLIDATE, RUN])
async def test_without_a_worker_a_step_is_pending_and_links_to_its_job(
    client: httpx.AsyncClient, connection: Connection, ask: Ask, step: str, done: tuple[str, ...], due: tuple[str, ...]
) -> None:
    query = await ask(*done)

    # Longer than a client may ask for.
    reply = await client.post(path(query.id, step), headers={"Prefer": "wait=30"})

    assert (reply.status_code, reply.headers["location"]) == (202, f"/jobs/{query.job_id}")
    assert "preference-applied" not in reply.headers
    started = reply.json()
    assert set(started) == {"query_id", "run_id", "job_id", "status", "message"}
    assert (started["job_id"], started["query_id"], started["status"]) == (query.job_id, query.id, "waiting")
    assert (await client.get(reply.headers["location"])).json()["status"] == "waiting"
    first, *later = due
    waiting = {first: "ready"} | dict.fromkeys(later, "waiting")
    assert await chain(connection, query.job_id) == dict.fromkeys(done, "done") | waiting


@waits_long
@pytest.mark.parametrize(
    ("step", "done", "stage", "error", "status", "kind"),
    [
        ("embed", ("expand",), "embed", "EmbeddingError", 500, "step-failed"),
        ("retrieve", ("expand", "embed"), "validate", "LLMResponseParseError", 500, "step-failed"),
        ("consolidate", TO_VALIDATE, "consolidate", "WorkChangedError", 409, "work-changed"),
        ("augment/run", TO_CONSOLIDATE, "generate", "LLMTimeoutError", 500, "step-failed"),
        ("embed", ("expand",), "embed", "ErrorOfAnotherLibrary", 500, "step-failed"),
    ],
)
async def test_a_stage_that_fails_during_the_wait_is_a_problem_with_the_next_step(
    client: httpx.AsyncClient,
    ask: Ask,
    working: Working,
    step: str,
    done: tuple[str, ...],
    stage: str,
    error: str,
    status: int,
    kind: str,
) -> None:
    query = await ask(*done)

    async with working(
        fails={stage: AttemptError(f"schemas.errors.{error}", "It broke.", "unknown", {"raw": "private"})}
    ):
        reply = await client.post(path(query.id, step))

    assert problem(reply) == (status, kind)
    failed = reply.json()
    assert (failed["query_id"], failed["job_id"], failed["stage"], failed["error_type"]) == (
        query.id,
        query.job_id,
        stage,
        error,
    )
    assert f"failed with {error}: It broke." in failed["detail"]
    assert f"ragq retry j{query.job_id}" in failed["detail"]
    assert "private" not in reply.text


@waits_long
@pytest.mark.parametrize(
    ("meanwhile", "status", "kind"), [("cancelled", 409, "step-superseded"), ("deleted", 404, "query-missing")]
)
async def test_a_concurrent_change_to_the_question_ends_the_wait(
    client: httpx.AsyncClient, ask: Ask, meanwhile: str, status: int, kind: str
) -> None:
    query = await ask("expand")
    waiting = await on_its_way(client, query)

    if meanwhile == "cancelled":
        assert (await client.post(f"/jobs/{query.job_id}/cancel")).status_code == 200
    else:
        assert (await client.delete(f"/rag/queries/{query.id}")).status_code == 204

    reply = await waiting
    assert problem(reply) == (status, kind)


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


@waits_long
@pytest.mark.parametrize(
    ("step", "done"),
    [
        ("retrieve", ("expand", "embed")),
        ("consolidate", TO_VALIDATE),
        ("augment/run", TO_CONSOLIDATE),
        ("run", TO_CONSOLIDATE),
    ],
)
async def test_a_step_takes_another_preset_and_other_values(
    client: httpx.AsyncClient, ask: Ask, working: Working, step: str, done: tuple[str, ...]
) -> None:
    query = await ask(*done)
    preset = {"config_preset": "Original"}
    values = {"settings": {"retrieval.min_word_count": 0}}

    async with working():
        reply = await client.post(path(query.id, step), params=preset, json=values)

    assert reply.status_code == 200
    settings = (await client.get(f"/runs/{reply.json()['run_id']}/settings")).json()
    assert settings["retrieval.min_word_count"] == {"value": 0, "source": "option"}
    assert settings["retrieval.fusion"] == {"value": "rrf", "source": "preset Original"}


@waits_long
async def test_nothing_relevant_is_no_fault_of_the_server_and_names_the_way_out(
    client: httpx.AsyncClient, ask: Ask, working: Working
) -> None:
    query = await ask("expand", "embed")
    error = NothingRelevantError("Stage 'rerank' dropped all 4 retrieved chunks", "retrieval.min_word_count=0")
    error.advise(query.id, query.job_id, "rerank")
    failure = AttemptError("schemas.errors.NothingRelevantError", str(error), "nothing_relevant", {})

    async with working({"rerank": failure}):
        failed = await client.post(path(query.id, "retrieve"))
    async with working():
        again = await client.post(path(query.id, "run"), json={"settings": {"retrieval.min_word_count": 0}})

    assert (failed.status_code, slug(failed), failed.json()["stage"]) == (422, "nothing-relevant", "rerank")
    assert "--set retrieval.min_word_count=0" in failed.json()["detail"]
    assert f"`POST /rag/queries/{query.id}/run`" in failed.json()["detail"]
    assert again.status_code == 200
