"""Unusable verdicts fail the chain at `validate`, no call is paid for twice, and `ragq audit` finds a changed byte."""

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.scripted_ollama import ACCEPT, ScriptedOllama, ScriptedReply

STAGES = ("extract", "embed", "retrieve", "rerank", "validate", "assemble")
OUTPUTS = """
SELECT a.stage, a.number, a.outcome, a.output_hash
FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1 ORDER BY a.id
"""
CHANGE_A_BYTE = """
UPDATE stage_attempt SET output = jsonb_set(output, '{items,NoInterest,0,similarity}', '0.5')
WHERE job_id = $1 AND stage = 'validate' AND outcome = 'succeeded' RETURNING number
"""
WORDS = "the lamp of the lighthouse"
REPLY = f"{ACCEPT} because of {WORDS}"


def test_the_chain_fails_at_validate_with_the_parse_error(
    shared: Installation, ollama: ScriptedOllama, evidence: GiveEvidence
) -> None:
    judge = ollama.model()
    judge.answer = lambda prompt: ScriptedReply(REPLY if judge.calls in (3, 4, 5) else ACCEPT)

    failed = shared.ragq("submit", *evidence({316: 2}), *judged_by(judge.name), "--wait", "--json")

    run_id = failed.json["run"]["id"]
    (job,) = failed.json["jobs"]
    error = job["error"]
    assert (failed.exit_code, job["status"], error["stage"]) == (3, "failed", "validate")
    assert (error["type"], error["category"]) == ("schemas.errors.LLMResponseParseError", "validation_json_parse")
    assert error["message"].startswith("The model's reply cannot be used: ")
    statuses = [(stage["stage"], stage["status"]) for stage in job["stages"]]
    assert statuses == list(zip(STAGES, ["done"] * 4 + ["failed", "waiting"], strict=True))
    then = shared.rows(OUTPUTS, run_id)

    retried = shared.ragq("retry", f"r{run_id}", "--json")

    assert shared.wait_for(run_id) == {"succeeded": 1}
    assert (retried.json["action"], len(retried.json["jobs"])) == ("retried", 1)
    now = shared.rows(OUTPUTS, run_id)
    assert now[: len(then)] == then, "a stage before `validate` ran again"
    assert [(row["stage"], row["number"], row["outcome"]) for row in now] == [
        *((stage, 1, "succeeded") for stage in STAGES[:4]),
        ("validate", 1, "failed"),
        ("validate", 2, "succeeded"),
        ("assemble", 1, "succeeded"),
    ]

    first, second = shared.inspect(run_id, "validate")
    assert (first["error"]["type"], first["error"]["details"]["raw_response"]) == (error["type"], REPLY)
    assert first["calls"][-1]["reply"] == REPLY
    facts = [(call["is_reused"], call["is_rejected"]) for call in first["calls"]]
    assert facts == [*[(False, False)] * 2, *[(False, True)] * 3]
    assert [call["is_reused"] for call in second["calls"]] == [True] * 5 + [False] * 2
    purposes = [call["purpose"].partition(", ")[2] for call in second["calls"]][2:6]
    assert purposes == ["rejected before", "re-ask 1, rejected before", "re-ask 2, rejected before", "re-ask 3"]
    (shown,) = shared.ragq("show", f"r{run_id}", "--json").json["jobs"]
    assert (shown["llm_paid"], shown["llm_reused"]) == (7, 5)

    printed = [failed.stdout, failed.stderr, retried.stdout, shared.ragq("show", f"r{run_id}").stdout, shared.logs]
    assert [WORDS in text for text in printed] == [False] * 5

    clean = shared.ragq("audit", f"r{run_id}", "--json")
    shared.value(CHANGE_A_BYTE, job["job_id"])
    changed = shared.ragq("audit", f"r{run_id}")
    assert (clean.exit_code, clean.json["attempts"], clean.json["flaws"]) == (0, 7, [])
    assert (changed.exit_code, changed.stdout.splitlines()) == (
        1,
        [f"j{job['job_id']} validate attempt 2: its output or its vectors changed", "7 attempts checked, 1 flaw."],
    )
