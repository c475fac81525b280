"""The same edit by command and over REST: with the same choice to run, the rows are the same."""

import asyncio
from typing import Any

import httpx
import pytest

from store.database import Connection
from store.questions.queries import StoredQuery
from tests.cli.conftest import Ragq, ragq
from tests.services.questions.questions import CONTEXT, WHOLE, a_question

__all__ = ["ragq"]

QUERY = "SELECT original_query FROM queries WHERE id = $1"
JOB = "SELECT status, note, inputs, finished_at IS NOT NULL AS is_finished FROM job WHERE id = $1"
STAGES = "SELECT stage, position, status, attempts, fence, enq_n FROM stage_run WHERE job_id = $1 ORDER BY position"
AWAITED = "SELECT id FROM job WHERE is_awaited AND sent_at IS NULL AND status = 'waiting' ORDER BY id"
ATTEMPTS = """
SELECT stage, number, fence, worker_id, outcome, inputs, output, output_hash FROM stage_attempt
WHERE job_id = $1 ORDER BY id
"""

PASSAGES = CONTEXT.model_dump(mode="json")["groups"]
EDITS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "parts": (
        (
            *("--text", "Why is tea brown?", "--intent", "critique", "--mqe", "tannin", "--mqe", "oxygen "),
            *("--hyde", "Air.", "--entity", "leaf"),
        ),
        {
            "original_query": "Why is tea brown?",
            "intent": "CRITIQUE",
            "expanded_queries": ["tannin", "oxygen "],
            "hyde_answer": "Air.",
            "entities": ["leaf"],
        },
    ),
    "passages": (("--passages", "3,1"), {"clean_retrieval_context": [PASSAGES[2], PASSAGES[0]]}),
    "a blank text": (("--text", " ", "--intent", "CRITIQUE"), {"original_query": " ", "intent": "CRITIQUE"}),
}


async def rows(connection: Connection, query: StoredQuery) -> list[list[dict[str, Any]]]:
    found = [await connection.fetch(QUERY, query.id)]
    found += [await connection.fetch(statement, query.job_id) for statement in (JOB, STAGES, ATTEMPTS)]
    return [[dict(row) for row in table] for table in found]


@pytest.mark.parametrize(("name", "run"), [("parts", False), *((name, True) for name in EDITS)])
async def test_an_edit_stores_the_same_rows(
    client: httpx.AsyncClient, connection: Connection, ragq: Ragq, name: str, run: bool
) -> None:
    options, body = EDITS[name]
    by_command, over_rest = [await a_question(connection, *WHOLE) for _ in range(2)]

    command = ("query", "edit", str(by_command.id), *options, "--run" if run else "--no-run")
    printed = await asyncio.to_thread(ragq, *command)
    reply = await client.patch(f"/rag/queries/{over_rest.id}", params={"run": run}, json=body)

    assert (printed.exit_code == 0) is reply.is_success, (printed.output, reply.text)
    assert printed.stdout.split()[:1] == ([f"j{by_command.job_id}"] if reply.is_success else [])
    assert await rows(connection, by_command) == await rows(connection, over_rest)
    awaited = [row["id"] for row in await connection.fetch(AWAITED)]
    is_due = run and name in ("parts", "passages")
    assert awaited == ([by_command.job_id, over_rest.job_id] if is_due else [])
