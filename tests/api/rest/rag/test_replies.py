"""What each step of a question replies, with the fields of the seed and of the code: one stored file, which a reviewer
reads in the diff.

WRITE_SHOWN=1 pytest tests/api/rest/rag/test_replies.py writes it again.
"""

import json
import os
import re
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.api.rest.rag.conftest import Working, waits_long

SHOWN: Final = Path(__file__).with_name("replies.json")
TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[\d.]+Z")

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


@waits_long
@pytest.mark.usefixtures("corpus")
async def test_a_question_replies_from_its_expansion_to_its_deletion_as_it_was_read(
    client: httpx.AsyncClient, working: Working
) -> None:
    found = []
    async with working():
        for method, path, body in STORY:
            reply = await client.request(method, path, json=body)
            found.append(
                {"request": f"{method} {path}", "status": reply.status_code, "reply": reply.text and reply.json()}
            )
    shown = TIME.sub("TIME", json.dumps(found, indent=1, sort_keys=True)) + "\n"

    if os.environ.get("WRITE_SHOWN"):
        SHOWN.write_text(shown, encoding="utf-8")
    assert shown == SHOWN.read_text(encoding="utf-8")
