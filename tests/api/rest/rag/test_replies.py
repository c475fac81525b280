"""What each step of a question replies, with the fields of the seed and of the code."""

import json
from typing import Final

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.api.rest.rag.conftest import Working
from tests.shown import as_read

QUESTION: Final = {"corpus": "small", "original_query": "What is working memory?"}
REPLY: Final = (
    '```json\n{"queries": ["memory span", "recall"], "hyde_answer": "A system.", "intent": "DEFINITION"}\n```'
)
AT: Final = "/rag/queries/1"
STORY: Final[tuple[tuple[str, str, object], ...]] = (
    ("POST", "/rag/expansion/prompt", {"original_query": "Why?"}),
    ("POST", "/rag/expansion/prompt", {"query": "Why?", "n": 5}),
    ("POST", "/rag/expansion/run", QUESTION | {"use_full_model": True}),
    *(("POST", f"{AT}/{step}", None) for step in ("embed", "retrieve", "consolidate")),
    ("GET", AT, None),
    *(("GET", f"{AT}/augment/prompt{wanted}", None) for wanted in ("", "?top_n=2", "?top_n=20")),
    ("POST", f"{AT}/augment/run", {"top_n": 5, "use_full_model": False, "force": True}),
    ("POST", f"{AT}/augment/manual", {"response_text": "It is a system [S1][S3].", "top_n": 2}),
    ("GET", f"{AT}/results", None),
    ("GET", f"{AT}/results/2", None),
    ("POST", "/rag/expansion/manual", QUESTION | {"llm_response": REPLY}),
    ("POST", "/rag/expansion/manual", {"corpus": "small", "query": "What is tea?", "response_text": REPLY}),
    ("GET", "/rag/queries?limit=2", None),
    ("GET", "/rag/queries?limit=2&before=2", None),
    ("GET", "/rag/queries?status=ready", None),
    ("GET", "/rag/queries?status=needs_embeddings", None),
    ("DELETE", f"{AT}/results/2", None),
    ("DELETE", AT, None),
    ("GET", AT, None),
)


@pytest.mark.usefixtures("corpus")
async def test_a_question_replies_from_its_expansion_to_its_deletion_as_it_was_read(
    client: httpx.AsyncClient, working: Working, snapshot: SnapshotAssertion
) -> None:
    async with working():
        for number, (method, path, body) in enumerate(STORY, start=1):
            reply = await client.request(method, path, json=body)
            text = reply.text and json.dumps(reply.json(), indent=1, sort_keys=True)
            assert as_read(f"{reply.status_code}\n{text}") == snapshot(name=f"{number:02} {method} {path}")
