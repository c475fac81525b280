"""A language model server fails: the stage fails with an error type that names the cause, and is retried only
where its settings allow it."""

from typing import Any

import pytest

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.scripted_ollama import ScriptedModel, ScriptedOllama, ScriptedReply

HELD = """
SELECT s.status, s.retries, s.enq_at, j.status AS job FROM stage_run AS s JOIN job AS j ON j.id = s.job_id
WHERE j.run_id = $1 AND s.stage = 'validate'
"""
WAITS = """
SELECT extract(epoch FROM started_at - lag(ended_at) OVER (ORDER BY number))::float8 AS seconds
FROM stage_attempt WHERE job_id = $1 AND stage = 'validate' ORDER BY number OFFSET 1
"""


def recorded(attempt: dict[str, Any]) -> tuple[str, str, str]:
    return attempt["error"]["type"], attempt["error"]["category"], attempt["error"]["message"]


@pytest.fixture(scope="module", autouse=True)
def run_that_waits_in_vain(shared: Installation, ollama: ScriptedOllama, evidence: GiveEvidence) -> int:
    """A run whose judge never answers; it times out while the other tests run."""
    silent = ollama.model(lambda prompt: ScriptedReply(delay_s=600))
    timeout = ("--set", "OLLAMA_TIMEOUT_SECONDS=10")
    return shared.submit(*evidence({316: 1}), *judged_by(silent.name), *timeout)


def test_a_broken_connection_keeps_its_error_type_and_names_the_server(
    shared: Installation, judge: ScriptedModel, evidence: GiveEvidence, ollama: ScriptedOllama
) -> None:
    """It is retried where the settings allow it, after waits that are stored in Postgres and double."""
    judge.answer = lambda prompt: ScriptedReply(hang_up=judge.calls <= 2)
    run_id = shared.submit(*evidence({316: 1}), *judged_by(judge.name), "--retries", "2")

    shared.wait_until("SELECT EXISTS (SELECT FROM stage_run WHERE not_before > now() + interval '0.3 seconds')")
    held = shared.rows(HELD, run_id)
    assert held in ([{"status": "ready", "retries": n, "enq_at": None, "job": "waiting"}] for n in (1, 2))
    assert shared.wait_for(run_id) == {"succeeded": 1}
    attempts = shared.inspect(run_id, "validate")
    assert [attempt["outcome"] for attempt in attempts] == ["failed", "failed", "succeeded"]
    assert recorded(attempts[0]) == (
        "httpx.RemoteProtocolError",
        "transport",
        f"httpx.RemoteProtocolError of a request to http://127.0.0.1:{ollama.port} "
        "(its message is stored with the attempt)",
    )
    assert attempts[0]["error"]["details"]["message"] == "Server disconnected without sending a response."
    first, second = (row["seconds"] for row in shared.rows(WAITS, attempts[0]["job_id"]))
    assert 0.75 < first < 1.5 + second
    assert second > 1.5


def test_a_time_out_names_the_seconds_of_the_setting(shared: Installation, run_that_waits_in_vain: int) -> None:
    assert shared.wait_for(run_that_waits_in_vain) == {"failed": 1}
    (attempt,) = shared.inspect(run_that_waits_in_vain, "validate")
    assert recorded(attempt) == (
        "schemas.errors.LLMTimeoutError",
        "validation_llm_timeout",
        "LLM request timed out after 10s",
    )
    assert 10 <= attempt["seconds"] < 20
