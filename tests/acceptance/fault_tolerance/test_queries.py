"""Workers of questions are killed at any point: another continues, and nothing is stored or paid twice."""

import json
from pathlib import Path

from schemas.chains import stages_of
from tests.acceptance.fault_tolerance.breakable import BreakableInstallation
from tests.acceptance.shelf import QUESTION, SHORT, write_shelf
from tests.scripted_ollama import ACCEPT, ScriptedOllama, ScriptedReply

CHAIN = stages_of("query", "answer")
EXPANSION = {"queries": ["oxidation"], "hyde_answer": "Enzymes darken it.", "intent": "MECHANISM", "entities": ["tea"]}
ANSWERS = """
SELECT r.response_text, r.model FROM results AS r
JOIN queries AS q ON q.id = r.query_id JOIN job AS j ON j.id = q.job_id
WHERE j.run_id = $1
"""


def reply(prompt: str) -> ScriptedReply:
    """Expands, validates and answers."""
    if "Source:" in prompt:
        return ScriptedReply("It is the oxygen [S1].")
    return ScriptedReply(json.dumps(EXPANSION) if "hyde_answer" in prompt else ACCEPT)


def test_a_worker_killed_in_every_stage_of_a_question_loses_and_repeats_nothing(
    breakable: BreakableInstallation, ollama: ScriptedOllama, tmp_path: Path
) -> None:
    worker = breakable.start_worker()
    imported = breakable.ragq("import", "works", str(write_shelf(tmp_path / "shelf")), "--corpus", "shelf", "--wait")
    assert imported.exit_code == 0, imported.stderr
    worker.kill()
    model = ollama.model(reply)
    values = (f"RAGQ_QUERY_MODEL={model.name}", f"validation.model={model.name}", "validation.enabled=true")
    by = [option for value in values for option in ("--set", value)]

    with breakable.supervised(RAGQ_CRASH_AT="before_commit#1") as supervisor:
        run_id = breakable.submit("--query", QUESTION, "--corpus", "shelf", "--until", "generate", *SHORT, *by)
        attempts = breakable.assert_recovered(run_id, jobs=1)

    assert supervisor.deaths >= len(CHAIN) - 1
    assert {stage: outcomes[0] for (_, stage), outcomes in attempts.items()} == dict.fromkeys(CHAIN, "interrupted")
    assert set(model.calls_per_prompt.values()) == {1}
    assert breakable.rows(ANSWERS, run_id) == [{"response_text": "It is the oxygen [S1].", "model": model.name}]
