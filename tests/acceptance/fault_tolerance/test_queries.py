"""Workers of questions are killed at any point: another continues, and nothing is stored or paid twice."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.chains import stages_of
from tests.acceptance.fault_tolerance.breakable import BreakableInstallation
from tests.acceptance.shelf import QUESTION, SHORT, write_shelf
from tests.scripted_ollama import ACCEPT, ScriptedModel, ScriptedOllama, ScriptedReply

ANSWER = stages_of("query", "answer")

EXPANSION = {"queries": ["oxidation"], "hyde_answer": "Enzymes darken it.", "intent": "MECHANISM", "entities": ["tea"]}


@pytest.fixture
def shelved(breakable: BreakableInstallation, tmp_path: Path) -> BreakableInstallation:
    """An installation with the shelf imported and embedded, and without any worker."""
    worker = breakable.start_worker()
    imported = breakable.ragq("import", "works", str(write_shelf(tmp_path / "shelf")), "--corpus", "shelf", "--wait")
    assert imported.exit_code == 0, imported.stderr
    worker.kill()
    return breakable


def reply_to(prompt: str) -> str:
    """The reply of a model to any prompt of a question."""
    if "Source:" in prompt:
        return "It is the oxygen [S1]."
    return json.dumps(EXPANSION) if "hyde_answer" in prompt else ACCEPT


@pytest.fixture
def writer(ollama: ScriptedOllama) -> ScriptedModel:
    """A model that expands, validates and answers."""
    return ollama.model(lambda prompt: ScriptedReply(reply_to(prompt)))


def ask(installation: BreakableInstallation, model: ScriptedModel) -> int:
    """Ask the question, with validation. The run's number."""
    by = ("--set", f"RAGQ_QUERY_MODEL={model.name}", "--set", f"validation.model={model.name}")
    judged = ("--set", "validation.enabled=true")
    return installation.submit("--query", QUESTION, "--corpus", "shelf", "--until", "generate", *SHORT, *by, *judged)


def answers(installation: BreakableInstallation, run_id: int) -> list[dict[str, Any]]:
    """The rows of the question's answers."""
    return installation.rows(
        "SELECT r.* FROM results AS r JOIN queries AS q ON q.id = r.query_id JOIN job AS j ON j.id = q.job_id"
        " WHERE j.run_id = $1",
        run_id,
    )


def test_a_worker_killed_in_every_stage_of_a_question_loses_and_repeats_nothing(
    shelved: BreakableInstallation, writer: ScriptedModel
) -> None:
    with shelved.supervised(RAGQ_CRASH_AT="before_commit#1") as supervisor:
        run_id = ask(shelved, writer)
        attempts = shelved.assert_recovered(run_id, jobs=1)

    assert supervisor.deaths >= len(ANSWER) - 1
    assert {stage: outcomes[0] for (_, stage), outcomes in attempts.items()} == dict.fromkeys(ANSWER, "interrupted")
    assert set(writer.calls_per_prompt.values()) == {1}
    (answer,) = answers(shelved, run_id)
    assert (answer["response_text"], answer["model"]) == ("It is the oxygen [S1].", writer.name)
