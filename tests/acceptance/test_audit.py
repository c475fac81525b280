"""`ragq audit` after a real run."""

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.scripted_ollama import ScriptedModel, ScriptedReply

CHANGE_A_BYTE = """
UPDATE stage_attempt SET output = jsonb_set(output, '{items,NoInterest,0,similarity}', '0.5')
WHERE job_id = $1 AND stage = 'validate' AND outcome = 'succeeded' RETURNING number
"""


def test_a_run_with_failures_and_retries_audits_clean_until_a_byte_changes(
    shared: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    judge.answer = lambda prompt: ScriptedReply("useless" if judge.calls <= 3 else ScriptedReply().text)
    run_id = shared.submit(*evidence({316: 1}), *judged_by(judge.name))
    shared.wait_for(run_id)
    shared.ragq("retry", f"r{run_id}")
    assert shared.wait_for(run_id) == {"succeeded": 1}
    clean = shared.ragq("audit", f"r{run_id}", "--json")

    job_id = shared.value("SELECT id FROM job WHERE run_id = $1", run_id)
    shared.value(CHANGE_A_BYTE, job_id)
    changed = shared.ragq("audit", f"r{run_id}")

    assert (clean.exit_code, clean.json["attempts"], clean.json["flaws"]) == (0, 7, [])
    assert (changed.exit_code, changed.stdout.splitlines()) == (
        1,
        [f"j{job_id} validate attempt 2: its output or its vectors changed", "7 attempts checked, 1 flaw."],
    )
