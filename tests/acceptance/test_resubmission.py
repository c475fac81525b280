"""The same submission finds its run and continues it; `--new` makes another, and `--fresh` pays for answers again."""

from stages.reports.words import DEMO_NOTICES
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.scripted_ollama import ACCEPT, ScriptedModel, ScriptedReply

ATTEMPTS = "SELECT count(*) FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1"


def test_the_same_submission_finds_its_run_new_makes_another_and_fresh_pays_again(
    shared: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    judge.answer = lambda prompt: ScriptedReply("useless" if judge.calls <= 3 else ACCEPT)
    work = (*evidence({316: 1}), *judged_by(judge.name))
    first = shared.submit(*work)
    assert shared.wait_for(first) == {"failed": 1}
    continued = shared.ragq("submit", *work, "--wait", "--json")
    assert f"Already submitted as r{first}; 1 of 1 job continue." in continued.stderr
    assert (continued.exit_code, continued.json["overview"]["id"]) == (0, first)
    paid = judge.calls

    again = shared.ragq("submit", *work, "--json")
    data_set = shared.value("SELECT DISTINCT data_set FROM participant")
    of_models = {name: one for name, one in again.json["changed_settings"].items() if name.startswith("MODEL")}
    assert again.json | {"changed_settings": of_models} == {
        "run": f"r{first}",
        "run_id": first,
        "is_new": False,
        "jobs": 1,
        "resumed": 0,
        "is_replay": False,
        "searched": f"index huggingface_all_minilm_l6_v2_paper_train ({data_set}/paper-train)",
        "notices": [DEMO_NOTICES["participant"]],
        "changed_settings": {"MODEL_JUDGE_MODEL": {"value": judge.name, "profile": "smollm2:135m", "source": "option"}},
    }
    assert f"Already submitted as r{first}; nothing new was stored." in again.stderr
    another = shared.submit(*work, "--new")
    assert another > first
    assert shared.wait_for(another) == {"succeeded": 1}
    # A reply that was rejected is not reused.
    assert (shared.value(ATTEMPTS, first), judge.calls) == (7, paid + 1)

    fresh = shared.submit(*work, "--fresh")
    assert shared.wait_for(fresh) == {"succeeded": 1}
    (view,) = shared.ragq("runs", "--limit", "1", "--json").json
    calls = shared.inspect(fresh, "validate")[0]["calls"]
    assert judge.calls - paid - 1 == len(calls) > 0
    facts = {(call["is_reused"], call["request"]["draw"], call["paid_by_run"], call["server"]) for call in calls}
    server = f"http://127.0.0.1:{shared.ollama_port}"
    assert facts == {(False, view["draw"], fresh, server)}
    shown = shared.ragq("show", f"r{fresh}", "--json").json
    assert [(job["llm_paid"], job["llm_reused"]) for job in shown["jobs"]] == [(len(calls), 0)]
    origin = shown["origin"]
    assert ([one["is_from_submission"] for one in origin["models"]], origin["servers"]) == ([True], [server])
    assert [one["stages"] for one in origin["workers"]] == [6]
    assert origin["submitter"]["packages"]["numpy"]
