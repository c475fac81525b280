"""The pages of runs and jobs escape every text and name."""

import json
from typing import Final

import httpx
import pytest

from store.database import Connection
from tests.api.pages.example_runs import participant_run, question_run
from tests.api.pages.html import see

PAYLOAD: Final = """</pre></title><img src=x onerror=alert(1)>"'"""
ESCAPED: Final = PAYLOAD.translate({ord("<"): "&lt;", ord(">"): "&gt;", ord('"'): "&#34;", ord("'"): "&#39;"})

#: Texts of these columns become the payload, strings inside of JSON too.
TEXTS: Final = (
    ("run", "name"),
    ("run", "note"),
    ("job", "subject"),
    ("job", "note"),
    ("stage_attempt", "error_type"),
    ("stage_attempt", "error_message"),
    ("stage_attempt", "error_category"),
    ("stage_attempt", "worker_id"),
    ("llm_call", "reply"),
    ("llm_call", "model"),
    ("llm_call", "stop_reason"),
    ("llm_call_use", "purpose"),
    ("reference_chunk", "text"),
    ("works", "title"),
    ("queries", "original_query"),
)
DOCUMENTS: Final = (
    ("stage_attempt", "inputs"),
    ("stage_attempt", "output"),
    ("stage_attempt", "error_details"),
    ("llm_call", "request"),
    ("run", "settings"),
    ("run", "request"),
)

#: Columns that accept only certain values.
CLOSED: Final = frozenset(
    {"accept", "reject", "unsure", "model", "dense", "lexical", "original", "mqe", "hyde", "consolidated", "MECHANISM"}
    | {"llm", "minimal", "mild", "moderate", "mod_severe", "severe", "no_mention", "score_na_with_evidence"}
)


@pytest.mark.parametrize("keeps_shape", [True, False])
async def test_stored_text_is_escaped_everywhere(
    client: httpx.AsyncClient, connection: Connection, keeps_shape: bool
) -> None:
    shown = await participant_run(connection)
    query = await question_run(connection)
    await connection.execute("UPDATE run SET name = id::text, note = 'note'")
    await _poison(connection, keeps_shape=keeps_shape)
    jobs = (shown.succeeded, shown.failed, query.job_id)
    for path in ("/runs", f"/runs/{shown.run_id}", f"/runs/{query.run_id}", *(f"/jobs/{job_id}" for job_id in jobs)):
        page = await see(client, path)
        assert page.status_code == 200, path
        assert "<img src=x" not in page.text, path
        assert ESCAPED in page.text, path


async def _poison(connection: Connection, *, keeps_shape: bool) -> None:
    for table, column in TEXTS:
        unique = " || id" if (table, column) == ("run", "name") else ""
        await connection.execute(f"UPDATE {table} SET {column} = $1::text{unique} WHERE {column} IS NOT NULL", PAYLOAD)
    # The subject of a job that scores is the number of a participant.
    await connection.execute("UPDATE job SET subject = '316' WHERE kind = 'participant'")
    for table, column in DOCUMENTS:
        for row in await connection.fetch(f"SELECT id, {column} AS kept FROM {table} WHERE {column} IS NOT NULL"):
            poisoned = _poisoned(row["kept"], CLOSED if keeps_shape else frozenset())
            await connection.execute(f"UPDATE {table} SET {column} = $2 WHERE id = $1", row["id"], json.dumps(poisoned))


def _poisoned(value: object, kept: frozenset[str]) -> object:
    match value:
        case dict():
            return {name: _poisoned(part, kept) for name, part in value.items()}
        case list():
            return [_poisoned(part, kept) for part in value]
        case str() if value not in kept:
            return PAYLOAD
    return value
