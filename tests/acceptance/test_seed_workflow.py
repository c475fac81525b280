"""The workflow of the seed's page over REST, with real workers behind it."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from api.app import make_app
from api.context import ApiContext
from schemas.settings.process import ProcessSettings
from store.database import Database
from tests.acceptance.harness import Installation
from tests.acceptance.shelf import QUESTION, TEA
from tests.scripted_ollama import ScriptedModel, ScriptedOllama, ScriptedReply
from workers.app import make_app as make_broker

EXPANSION = {
    "queries": ["oxidation of catechins in tea leaves"],
    "hyde_answer": "Enzymes oxidise the catechins of the leaf into darker molecules.",
    "intent": "MECHANISM",
    "entities": ["catechins"],
}
ANSWER = "Oxygen darkens the catechins [S1]. Steel does not [S9]."

LIGHT_EXPANSION = EXPANSION | {"queries": ["why leaves brown"]}
LIGHT_ANSWER = "Oxygen [S1]."

#: The works of the shelf are short: nothing is filtered or dropped for its length.
SHORT = {
    "retrieval": {"min_word_count": 0, "min_char_count": 0},
    "consolidation": {"min_content_length": 0},
    "expansion": {"n": 1},
}
ASKED = {"corpus": "shelf", "config_preset": "Short"}


@pytest.fixture
def asked(shelved: Installation) -> Installation:
    """The same with a worker."""
    shelved.start_worker()
    return shelved


@pytest.fixture
def writer(ollama: ScriptedOllama) -> ScriptedModel:
    """A model that expands every question and answers every prompt that has sources."""
    return ollama.model(lambda prompt: ScriptedReply(ANSWER if "Source:" in prompt else json.dumps(EXPANSION)))


@pytest.fixture
def light_writer(ollama: ScriptedOllama) -> ScriptedModel:
    """The light model, which requests with `use_full_model: false` ask."""
    return ollama.model(
        lambda prompt: ScriptedReply(LIGHT_ANSWER if "Source:" in prompt else json.dumps(LIGHT_EXPANSION))
    )


@pytest.fixture
async def client(
    shelved: Installation, writer: ScriptedModel, light_writer: ScriptedModel
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the API over the servers of the installation, with a preset that suits the shelf."""
    ctx = ApiContext(
        settings=ProcessSettings(),
        database=Database(shelved.database_url, pool_size=4),
        broker=make_broker(shelved.redis_url),
        environment={
            "RAGQ_PROFILE": "demo",
            "RAGQ_QUERY_MODEL": writer.name,
            "RAGQ_QUERY_LIGHT_MODEL": light_writer.name,
        },
    )
    transport = httpx.ASGITransport(make_app(ctx))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as connected:
        made = await connected.post("/api/rag-config", json={"preset_name": "Short", "config": SHORT})
        assert made.status_code == 201, made.text
        yield connected
    await ctx.close()


async def ok(reply: httpx.Response) -> Any:
    assert reply.status_code == 200, reply.text
    return reply.json()


@pytest.mark.usefixtures("asked")
async def test_b8_field_names_of_the_seed_and_of_the_code_are_both_accepted(
    client: httpx.AsyncClient, writer: ScriptedModel, light_writer: ScriptedModel
) -> None:
    """The eight steps of the seed's workflow, once with the names of its document and once with those of its code."""
    pasted = json.dumps(EXPANSION)
    replies = {"steel": "Steel does not [S1].", "oxygen": "Oxygen does [S1]."}

    by_document = await ok(
        await client.post("/rag/expansion/run", json=ASKED | {"original_query": QUESTION, "use_full_model": True})
    )
    by_code = await ok(await client.post("/rag/expansion/run", json=ASKED | {"query": QUESTION, "n": 1}))
    manual_document = await ok(
        await client.post("/rag/expansion/manual", json=ASKED | {"original_query": QUESTION, "llm_response": pasted})
    )
    manual_code = await ok(
        await client.post("/rag/expansion/manual", json=ASKED | {"query": QUESTION, "response_text": pasted})
    )
    for expanded in (by_document, by_code):
        assert (expanded["success"], expanded["original_query"]) == (True, QUESTION)
        assert expanded["expanded_queries"] == EXPANSION["queries"]
        assert (expanded["hyde_answer"], expanded["intent"]) == (EXPANSION["hyde_answer"], EXPANSION["intent"])
        assert expanded["entities"] == EXPANSION["entities"]
    assert all(saved["success"] and saved["message"] for saved in (manual_document, manual_code))

    where = f"/rag/queries/{by_document['query_id']}"
    embedded = await ok(await client.post(f"{where}/embed"))
    assert (embedded["success"], embedded["vector_status"], embedded["total_embeddings"]) == (True, "vec", 3)
    retrieved = await ok(await client.post(f"{where}/retrieve"))
    assert retrieved["chunks_retrieved"] == retrieved["final_count"] > 2
    consolidated = await ok(await client.post(f"{where}/consolidate"))
    assert consolidated["original_count"] == retrieved["final_count"]

    prompt = await ok(await client.get(f"{where}/augment/prompt", params={"top_n": 2}))
    assert (prompt["context_count"], prompt["context_source"]) == (2, "consolidated")
    assert "[S1] Source: On Tea" in prompt["prompt"]
    run_document = await ok(await client.post(f"{where}/augment/run", json={"top_n": 2, "use_full_model": False}))
    run_code = await ok(await client.post(f"{where}/augment/run", params={"top_n": 2}, json={"force": True}))
    assert (run_document["response_text"], run_document["model"]) == (LIGHT_ANSWER, light_writer.name)
    assert (run_code["response_text"], run_code["model"]) == (ANSWER, writer.name)
    assert run_document["sources"][0]["title"] == "On Tea"
    saved_document = await ok(
        await client.post(f"{where}/augment/manual", json={"response_text": replies["oxygen"], "top_n": 2})
    )
    saved_code = await ok(await client.post(f"{where}/augment/manual", json={"response_text": replies["steel"]}))

    results = await ok(await client.get(f"{where}/results"))
    made = [run_document, run_code, saved_document, saved_code]
    assert [result["id"] for result in results["results"]] == [one["result_id"] for one in reversed(made)]
    one = await ok(await client.get(f"{where}/results/{run_document['result_id']}"))
    assert (one["query_id"], one["response_text"]) == (by_document["query_id"], LIGHT_ANSWER)
    lines = {line["id"]: line for line in (await ok(await client.get("/rag/queries")))["queries"]}
    line = lines[by_document["query_id"]]
    assert (line["status"], line["vector_status"], line["results_count"]) == ("ready", "vec", 4)


async def test_the_prompt_that_was_shown_is_the_one_that_is_asked(
    asked: Installation, client: httpx.AsyncClient, writer: ScriptedModel
) -> None:
    expanded = await ok(await client.post("/rag/expansion/run", json=ASKED | {"query": QUESTION}))
    where = f"/rag/queries/{expanded['query_id']}"
    for step in ("embed", "retrieve", "consolidate"):
        await ok(await client.post(f"{where}/{step}"))
    passages = (await ok(await client.get(where)))["clean_retrieval_context"]
    assert len(passages) > 2
    await ok(await client.patch(where, json={"clean_retrieval_context": [passages[2], passages[0]]}))

    shown = await ok(await client.get(f"{where}/augment/prompt", params={"top_n": 1}))
    await ok(await client.post(f"{where}/augment/run", json={"top_n": 1}))

    assert [source["chunk_ids"] for source in shown["sources"]] == [passages[2]["chunk_ids"]]
    assert writer.prompts[-1].endswith(shown["prompt"])
    for text in (QUESTION, ANSWER, str(EXPANSION["hyde_answer"])):
        assert text not in asked.logs


@pytest.mark.usefixtures("asked")
async def test_an_unreadable_expansion_is_a_400_that_stores_nothing_and_a_pasted_one_takes_its_place(
    client: httpx.AsyncClient, writer: ScriptedModel
) -> None:
    writer.answer = lambda prompt: ScriptedReply("Tea is dark because of oxygen.")
    refused = await client.post("/rag/expansion/run", json=ASKED | {"query": QUESTION})
    assert (refused.status_code, refused.json()["error_type"]) == (400, "LLMResponseParseError")
    assert "Tea is dark" not in refused.text
    assert "POST /rag/expansion/manual" in refused.json()["detail"]

    body = ASKED | {"query": QUESTION, "response_text": json.dumps(EXPANSION)}
    pasted = await ok(await client.post("/rag/expansion/manual", json=body))

    assert (await ok(await client.post(f"/rag/queries/{pasted['query_id']}/embed")))["mqe_count"] == 1


async def test_a_work_that_changed_is_a_409(
    asked: Installation, client: httpx.AsyncClient, tmp_path_factory: pytest.TempPathFactory
) -> None:
    body = ASKED | {"query": QUESTION, "response_text": json.dumps(EXPANSION)}
    where = f"/rag/queries/{(await ok(await client.post('/rag/expansion/manual', json=body)))['query_id']}"
    for step in ("embed", "retrieve"):
        await ok(await client.post(f"{where}/{step}"))
    database = Database(asked.database_url, pool_size=1)
    async with database.connection() as connection:
        changed = TEA.replace("copper", "bronze")
        await connection.execute("UPDATE works SET markdown = $1 WHERE title = 'On Tea'", changed)
    await database.close()

    refused = await client.post(f"{where}/consolidate")

    assert (refused.status_code, refused.json()["type"]) == (409, "urn:ragq:problem:work-changed")
    assert "retry" in refused.json()["detail"]
    assert (await ok(await client.get(where)))["clean_retrieval_context"] is None
