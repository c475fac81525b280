"""Questions over REST: read and changed."""

from typing import Any

import httpx
import pytest

from schemas.values.runs import AttemptError
from store.database import Connection
from store.runs import stages
from tests.api.rest.rag.conftest import Ask
from tests.services.questions.questions import WHOLE
from tests.store.scored import claimed

QUERIES = "/rag/queries"


async def test_a_failed_embedding_needs_embeddings_and_shows_the_reason(
    client: httpx.AsyncClient, connection: Connection, ask: Ask
) -> None:
    query = await ask("expand")
    reply = await client.post(f"{QUERIES}/{query.id}/embed", headers={"Prefer": "respond-async"})
    assert reply.status_code == 202
    claim = await claimed(connection, query.job_id, "embed")
    broken = AttemptError("schemas.errors.EmbeddingError", "It is broken.", "unknown", {"words": "private"})
    await stages.fail(connection, claim, broken, inputs={})

    found = (await client.get(f"{QUERIES}/{query.id}")).json()

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


WHOLE_PASSAGE = {"content": "passage 2", "score": 0.5, "heading_chain": ["Colour"], "pages": [12, 13]}


@pytest.mark.parametrize(
    "choice",
    [
        {"work_id": 1, "start_line": 2, "end_line": 2},
        {"place": 1, "chunk_ids": [2]},
        {"place": 2, "chunk_ids": [2], **WHOLE_PASSAGE},
    ],
)
async def test_a_passage_is_identified_by_any_of_its_fields(
    client: httpx.AsyncClient, ask: Ask, choice: dict[str, Any]
) -> None:
    query = await ask(*WHOLE[:6])
    reply = await client.patch(f"{QUERIES}/{query.id}", json={"clean_retrieval_context": [choice]})
    assert [passage["content"] for passage in reply.json()["clean_retrieval_context"]] == ["passage 2"]
