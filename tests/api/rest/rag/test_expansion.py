"""New questions over REST."""

from typing import Any

import httpx
import pytest

from api.context import ApiContext
from schemas.values.runs import AttemptError
from store.database import Connection
from store.runs import jobs, runs
from tests.api.rest.problems import problem, slug
from tests.api.rest.rag.conftest import Working, waits_long
from tests.services.questions.questions import chain

PROMPT = "/rag/expansion/prompt"
RUN = "/rag/expansion/run"
MANUAL = "/rag/expansion/manual"
SMALL: dict[str, str] = {"corpus": "small"}
QUESTION = "What is working memory?"
AT_ONCE = {"Prefer": "respond-async"}
REPLY = (
    '```json\n{"queries": ["What is the definition of working memory?", "How does working memory function?"], '
    '"hyde_answer": "Working memory is a cognitive system...", "intent": "DEFINITION", '
    '"entities": ["working memory"]}\n```'
)

pytestmark = pytest.mark.usefixtures("corpus")


async def frozen_n(ctx: ApiContext, run_id: int) -> object:
    async with ctx.database.connection() as connection:
        return (await runs.settings(connection, run_id))["expansion.n"]


async def test_the_prompt_is_shown_for_both_names_of_the_question(client: httpx.AsyncClient) -> None:
    for body, n in [({"original_query": QUESTION}, 3), ({"query": QUESTION, "n": 5}, 5)]:
        reply = await client.post(PROMPT, json=body)

        assert reply.status_code == 200
        shown = reply.json()
        assert (shown["query"], shown["original_query"], shown["n"]) == (QUESTION, QUESTION, n)
        assert QUESTION in shown["prompt"] and str(n) in shown["prompt"]
        assert (await client.get("/rag/queries")).json()["total"] == 0


@waits_long
@pytest.mark.parametrize(
    ("body", "n"),
    [
        ({"original_query": QUESTION, "use_full_model": True}, {"value": 3, "source": "preset Balanced"}),
        ({"query": QUESTION, "n": 2}, {"value": 2, "source": "option"}),
    ],
)
async def test_a_question_is_asked_and_expanded(
    client: httpx.AsyncClient, ctx: ApiContext, working: Working, body: dict[str, Any], n: dict[str, Any]
) -> None:
    async with working():
        reply = await client.post(RUN, json=SMALL | body)

    assert reply.status_code == 200
    expanded = reply.json()
    assert (expanded["success"], expanded["original_query"]) == (True, QUESTION)
    assert expanded["expanded_queries"] == ["tea leaf oxidation", "catechins turn brown"]
    assert (expanded["hyde_answer"], expanded["intent"]) == ("Oxygen darkens it.", "MECHANISM")
    assert expanded["entities"] == ["tea"]
    found = (await client.get(f"/rag/queries/{expanded['query_id']}")).json()
    assert (found["status"], found["vector_status"], found["corpus"]) == ("needs_embeddings", "to_vec", "small")
    assert await frozen_n(ctx, expanded["run_id"]) == n
    async with ctx.database.connection() as connection:
        assert await chain(connection, expanded["job_id"]) == {"expand": "done"}


async def test_the_light_model_is_asked_for_by_saying_no_to_the_full_one(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    cases: list[tuple[dict[str, bool | None], bool | None]] = [
        ({"use_full_model": False}, True),
        ({"use_full_model": True}, None),
        ({"use_full_model": None}, None),
        ({}, None),
    ]
    for body, light in cases:
        reply = await client.post(RUN, json=SMALL | body | {"query": QUESTION}, headers=AT_ONCE)

        job = await jobs.get(connection, reply.json()["job_id"])
        assert job.inputs.get("light_model") is light


@waits_long
@pytest.mark.parametrize("error", ["LLMResponseParseError", "ReplyShapeError"])
async def test_an_unusable_expansion_is_a_400_and_nothing_is_stored(
    client: httpx.AsyncClient, working: Working, error: str
) -> None:
    unusable = AttemptError(
        f"schemas.errors.{error}", "The model's reply cannot be used: no object", "parse", {"raw": "secret"}
    )
    async with working(fails={"expand": unusable}):
        reply = await client.post(RUN, json=SMALL | {"query": QUESTION})

    assert (reply.status_code, slug(reply), reply.json()["stage"]) == (400, "expansion-unusable", "expand")
    assert "secret" not in reply.text
    assert "POST /rag/expansion/manual" in reply.json()["detail"]
    assert (await client.get("/rag/queries")).json()["total"] == 0
    assert (await client.get("/runs")).json()["runs"] == []


@waits_long
async def test_another_failure_of_the_expansion_is_a_500(client: httpx.AsyncClient, working: Working) -> None:
    late = AttemptError("schemas.errors.LLMTimeoutError", "LLM request timed out after 600s", "llm_timeout", {})
    async with working(fails={"expand": late}):
        reply = await client.post(RUN, json=SMALL | {"query": QUESTION})
    assert (reply.status_code, slug(reply), reply.json()["error_type"]) == (500, "expansion-failed", "LLMTimeoutError")
    assert (await client.get("/rag/queries")).json()["total"] == 0


@pytest.mark.parametrize(
    "body", [{"original_query": QUESTION, "llm_response": REPLY}, {"query": QUESTION, "response_text": REPLY}]
)
async def test_a_pasted_expansion_needs_neither_model_nor_worker(
    client: httpx.AsyncClient, body: dict[str, Any]
) -> None:
    reply = await client.post(MANUAL, json=SMALL | body)

    assert reply.status_code == 200
    saved = reply.json()
    assert (saved["success"], saved["message"]) == (True, "Query created successfully")
    found = (await client.get(f"/rag/queries/{saved['query_id']}")).json()
    assert (found["original_query"], found["intent"]) == (QUESTION, "DEFINITION")
    assert found["expanded_queries"] == [
        "What is the definition of working memory?",
        "How does working memory function?",
    ]
    assert (found["status"], found["vector_status"], found["job_status"]) == ("needs_embeddings", "to_vec", "succeeded")


async def test_a_pasted_expansion_that_cannot_be_used_is_a_400_and_nothing_is_stored(client: httpx.AsyncClient) -> None:
    for reply in ["Here are the expanded queries...", "{}", '{"queries": [1]}', "  "]:
        refused = await client.post(MANUAL, json=SMALL | {"original_query": QUESTION, "llm_response": reply})
        assert problem(refused) == (400, "reply-unusable")
        assert "expanded queries" not in refused.text
        assert (await client.get("/rag/queries")).json()["total"] == 0
