"""Every job is in exactly one state, at every moment."""

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.scripted_ollama import ScriptedModel, ScriptedReply

SAMPLE = "SELECT status, count(*)::integer AS jobs FROM job WHERE run_id = $1 GROUP BY status"


def test_the_states_always_add_up_to_the_jobs(
    shared: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    judge.answer = lambda prompt: ScriptedReply("useless" if judge.calls == 4 else ScriptedReply().text, delay_s=0.15)
    jobs = evidence({304: 1, 313: 1, 316: 1, 319: 1, 330: 1})
    run_id = shared.submit(*jobs, *judged_by(judge.name), "--allow-overlap", "--set", "RAGQ_REPLY_RETRIES=0")

    samples: list[dict[str, int]] = []
    while not samples or samples[-1].keys() & {"waiting", "running", "interrupted"}:
        samples.append({row["status"]: row["jobs"] for row in shared.rows(SAMPLE, run_id)})

    assert {sum(sample.values()) for sample in samples} == {5}
    assert len(samples) > 5
    assert samples[-1] == {"failed": 1, "succeeded": 4}
    assert shared.ragq("runs", "--limit", "1", "--json").json[0]["states"] == samples[-1]
