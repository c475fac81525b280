"""The same submission finds its run: finished jobs do not run again, and failed ones continue."""

from stages.reports.words import DEMO_NOTICES
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.scripted_ollama import ScriptedModel, ScriptedReply


def test_the_same_submission_finds_its_run_and_new_makes_another(
    shared: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    work = (*evidence({316: 1}), *judged_by(judge.name))
    first = shared.submit(*work)
    shared.wait_for(first)

    again = shared.ragq("submit", *work, "--json")
    another = shared.submit(*work, "--new")

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
    assert another > first
    assert (
        shared.value(
            "SELECT count(*) FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1", first
        )
        == 6
    )


def test_after_a_failure_the_same_submission_continues_the_run(
    shared: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    judge.answer = lambda prompt: ScriptedReply("useless" if judge.calls in (2, 3, 4) else ScriptedReply().text)
    work = (*evidence({316: 1, 319: 0}), *judged_by(judge.name))
    run_id = shared.submit(*work)
    assert shared.wait_for(run_id) == {"failed": 1, "succeeded": 1}

    again = shared.ragq("submit", *work, "--wait", "--json")

    assert f"Already submitted as r{run_id}; 1 of 2 jobs continue." in again.stderr
    assert (again.exit_code, again.json["overview"]["id"], judge.calls) == (0, run_id, 5)
