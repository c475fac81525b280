"""Questions over REST: listed, read, changed, deleted."""

from typing import Any

import httpx
import pytest

from api.context import ApiContext
from schemas.values.runs import AttemptError
from services.questions import edits as query_asked
from store.database import Connection
from store.questions.queries import StoredQuery
from store.runs import stages
from tests.api.rest.rag.conftest import Ask
from tests.services.questions.questions import WHOLE, complete_stages, request, settings

TO_CONSOLIDATE = WHOLE[:6]
QUERIES = "/rag/queries"

LIST_FIELDS = {
    *("id", "original_query", "intent", "vector_status", "has_retrieved_context", "has_clean_context", "results_count"),
    *("created_at", "updated_at", "status", "entities_count"),
    *("run_id", "job_id", "job_status", "corpus", "corpora", "works", "preset"),
}
DETAIL_FIELDS = LIST_FIELDS | {
    *("expanded_queries", "hyde_answer", "entities", "retrieved_context", "clean_retrieval_context"),
    *("available_context_count", "error", "nearest"),
}
RETRIEVED_FIELDS = {
    *("id", "parent_id", "work_id", "content", "heading_breadcrumbs", "enriched_content", "start_line", "end_line"),
    *("level", "rrf_score", "fusion_score", "rerank_score", "entity_boost", "intent_boost", "final_score"),
    *("dense_rank", "lexical_rank", "pages"),
}
CLEAN_FIELDS = {
    *("chunk_ids", "parent_id", "work_id", "content", "start_line", "end_line", "score", "heading_chain", "pages"),
    "place",
}


async def another(ctx: ApiContext, *done: str) -> StoredQuery:
    async with ctx.database.connection() as connection:
        query, _ = await query_asked.ask(connection, request("Another question?"), settings())
        await complete_stages(connection, query.job_id, *done)
        return query


async def read(client: httpx.AsyncClient, query_id: int) -> dict[str, Any]:
    reply = await client.get(f"{QUERIES}/{query_id}")
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


async def test_the_list_has_the_fields_of_the_seed_and_of_the_code(client: httpx.AsyncClient, ask: Ask) -> None:
    query = await ask(*WHOLE)

    listed = (await client.get(QUERIES)).json()

    assert listed["total"] == 1
    (item,) = listed["queries"]
    assert set(item) == LIST_FIELDS
    assert (item["id"], item["original_query"], item["intent"]) == (query.id, "Why is tea dark?", "MECHANISM")
    assert (item["vector_status"], item["status"], item["job_status"]) == ("vec", "ready", "succeeded")
    assert (item["has_retrieved_context"], item["has_clean_context"]) == (True, True)
    assert (item["entities_count"], item["results_count"]) == (1, 0)
    assert (item["run_id"], item["job_id"]) == (query.run_id, query.job_id)


async def test_the_list_is_newest_first_and_filtered_by_page_and_status(
    client: httpx.AsyncClient, ctx: ApiContext, ask: Ask
) -> None:
    first = await ask(*TO_CONSOLIDATE)
    second = await another(ctx, "expand")
    third = await another(ctx, "expand", "embed")

    page = (await client.get(QUERIES, params={"limit": 2})).json()
    rest = (await client.get(QUERIES, params={"limit": 2, "before": second.id})).json()
    waiting = (await client.get(QUERIES, params={"status": "needs_embeddings"})).json()

    assert ([item["id"] for item in page["queries"]], page["total"]) == ([third.id, second.id], 3)
    assert ([item["id"] for item in rest["queries"]], rest["total"]) == ([first.id], 3)
    assert ([item["id"] for item in waiting["queries"]], waiting["total"]) == ([second.id], 1)


async def test_a_question_has_the_fields_of_the_seed_and_of_the_code(client: httpx.AsyncClient, ask: Ask) -> None:
    query = await ask(*TO_CONSOLIDATE)

    found = await read(client, query.id)

    assert set(found) == DETAIL_FIELDS
    assert found["expanded_queries"] == ["tea leaf oxidation", "catechins turn brown"]
    assert (found["hyde_answer"], found["entities"]) == ("Oxygen darkens it.", ["tea"])
    assert (found["corpus"], found["preset"], found["error"]) == ("small", "Balanced", None)
    assert found["available_context_count"] == 3
    chunk = found["retrieved_context"][0]
    assert set(chunk) == RETRIEVED_FIELDS
    assert (chunk["id"], chunk["rrf_score"], chunk["fusion_score"], chunk["final_score"]) == (1, None, 1.0, 1.05)
    passage = found["clean_retrieval_context"][1]
    assert set(passage) == CLEAN_FIELDS
    assert (passage["place"], passage["chunk_ids"], passage["content"]) == (2, [2], "passage 2")
    assert passage["pages"] == [12, 13]


async def test_a_failed_embedding_needs_embeddings_and_shows_the_reason(
    client: httpx.AsyncClient, connection: Connection, ask: Ask
) -> None:
    query = await ask()
    await complete_stages(connection, query.job_id, "expand")
    reply = await client.post(f"{QUERIES}/{query.id}/embed", headers={"Prefer": "respond-async"})
    assert reply.status_code == 202
    claim = await stages.claim(connection, query.job_id, "embed", "worker", 60)
    assert claim is not None
    broken = AttemptError("schemas.errors.EmbeddingError", "It is broken.", "unknown", {"words": "private"})
    await stages.fail(connection, claim, broken, inputs={})

    found = await read(client, query.id)

    assert (found["status"], found["vector_status"], found["job_status"]) == ("needs_embeddings", "vec_err", "failed")
    assert found["error"] == {
        "stage": "embed",
        "attempt": 1,
        "type": "schemas.errors.EmbeddingError",
        "message": "It is broken.",
        "category": "unknown",
    }
    listed = (await client.get(QUERIES, params={"status": "needs_embeddings"})).json()
    assert ([item["id"] for item in listed["queries"]], listed["total"]) == ([query.id], 1)


@pytest.mark.parametrize(
    "choice",
    [
        {"work_id": 1, "start_line": 2, "end_line": 2},
        {"place": 1, "chunk_ids": [2]},
        {
            "place": 2,
            "chunk_ids": [2],
            "content": "passage 2",
            "score": 0.5,
            "heading_chain": ["Colour"],
            "pages": [12, 13],
        },
    ],
)
async def test_a_passage_is_identified_by_any_of_its_fields(
    client: httpx.AsyncClient, ask: Ask, choice: dict[str, Any]
) -> None:
    query = await ask(*TO_CONSOLIDATE)
    reply = await client.patch(f"{QUERIES}/{query.id}", json={"clean_retrieval_context": [choice]})
    assert [passage["content"] for passage in reply.json()["clean_retrieval_context"]] == ["passage 2"]


async def test_a_question_is_deleted_with_everything_of_it(client: httpx.AsyncClient, ask: Ask) -> None:
    query = await ask(*WHOLE)

    deleted = await client.delete(f"{QUERIES}/{query.id}")

    assert (deleted.status_code, deleted.content) == (204, b"")
    assert (await client.get(QUERIES)).json() == {"queries": [], "total": 0}
    assert (await client.get(f"/jobs/{query.job_id}")).status_code == 404
