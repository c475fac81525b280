"""`ragq inspect`: a stage that is no longer in the chain can still be shown."""

import json
from collections.abc import Callable
from typing import Any

from store.database import Connection
from store.runs import edits
from tests.cli.conftest import Ragq
from tests.services.questions.questions import a_question


async def a_shortened_question(connection: Connection) -> int:
    query = await a_question(connection, "expand", "embed")
    await edits.truncate_after(connection, query.job_id, "expand")
    return query.job_id


def test_the_json_of_a_job_names_the_columns_of_its_rows(ragq: Ragq, stored: Callable[..., Any]) -> None:
    job_id = stored(a_shortened_question)

    shown = json.loads(ragq("inspect", f"j{job_id}", "--json").stdout)

    assert list(shown) == ["job", "stages", "stage", "attempts"]
    assert list(shown["job"]) == [
        *("id", "run_id", "ordinal", "kind", "mode", "subject", "inputs", "status", "created_at", "finished_at", "note")
    ]
    assert list(shown["attempts"][0]) == [
        *("id", "job_id", "stage", "number", "fence", "worker_id", "started_at", "ended_at", "outcome", "inputs"),
        *("output", "output_hash", "previous_hash", "hash", "error_type", "error_message", "error_category"),
        *("error_details", "host", "pid", "seconds", "vectors", "database_s", "calls"),
    ]
