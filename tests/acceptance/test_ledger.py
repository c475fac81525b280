"""A call that was answered once is never paid for again, in any run."""

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.scripted_ollama import ScriptedModel, ScriptedOllama, ScriptedReply


def test_a_second_run_of_the_same_work_makes_no_paid_call(
    shared: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    work = (*evidence({316: 2}), *judged_by(judge.name))
    first = shared.submit(*work)
    shared.wait_for(first)
    paid = judge.calls

    second = shared.submit(*work, "--new")

    assert shared.wait_for(second) == {"succeeded": 1}
    assert (second != first, paid, judge.calls) == (True, 4, 4)
    (job,) = shared.ragq("show", f"r{second}", "--json").json["jobs"]
    assert (job["llm_paid"], job["llm_reused"]) == (0, 4)
    one, other = (shared.inspect(run_id, "validate")[0] for run_id in (first, second))
    assert other["output"] == one["output"]
    assert [call["call_id"] for call in other["calls"]] == [call["call_id"] for call in one["calls"]]


def test_a_rejected_reply_is_not_reused_by_another_run(
    shared: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    judge.answer = lambda prompt: ScriptedReply("no idea") if judge.calls in (2, 3, 4) else ScriptedReply()
    work = (*evidence({316: 1}), *judged_by(judge.name))
    failed = shared.submit(*work)
    assert shared.wait_for(failed) == {"failed": 1}

    second = shared.submit(*work, "--new")

    assert shared.wait_for(second) == {"succeeded": 1}
    first_prompt, second_prompt, _, _, asked_again = judge.prompts
    assert (first_prompt != second_prompt, asked_again) == (True, second_prompt)


def test_both_modes_of_a_participant_pay_for_their_extraction_once(
    shared: Installation, ollama: ScriptedOllama
) -> None:
    extractor = ollama.model(lambda prompt: ScriptedReply('{"PHQ8_Sleep": []}', delay_s=0.5))
    by_model = ("QUANTITATIVE_EVIDENCE_EXTRACTOR=llm", f"MODEL_QUANTITATIVE_MODEL={extractor.name}")

    run_id = shared.submit("--participants", "316", "--set", by_model[0], "--set", by_model[1])

    assert shared.wait_for(run_id) == {"succeeded": 2}
    assert extractor.calls == 1
    jobs = shared.ragq("show", f"r{run_id}", "--json").json["jobs"]
    assert sorted((job["llm_paid"], job["llm_reused"]) for job in jobs) == [(0, 1), (1, 0)]


def test_a_fresh_run_pays_for_its_answers_and_every_view_names_their_draw(
    shared: Installation, ollama: ScriptedOllama
) -> None:
    extractor = ollama.model(lambda prompt: ScriptedReply('{"PHQ8_Sleep": []}'))
    work = (
        *("--participants", "316", "--zero-shot-only", "--until", "extract"),
        *("--set", "QUANTITATIVE_EVIDENCE_EXTRACTOR=llm", "--set", f"MODEL_QUANTITATIVE_MODEL={extractor.name}"),
    )
    first = shared.submit(*work)
    shared.wait_for(first)

    fresh = shared.submit(*work, "--fresh")

    assert shared.wait_for(fresh) == {"succeeded": 1}
    assert (fresh != first, extractor.calls) == (True, 2)
    (call,) = shared.inspect(fresh, "extract")[0]["calls"]
    (view,) = shared.ragq("runs", "--limit", "1", "--json").json
    assert (call["is_reused"], call["request"]["draw"], call["paid_by_run"]) == (False, view["draw"], fresh)
    assert call["server"] == f"http://127.0.0.1:{ollama.port}"
    origin = shared.ragq("show", f"r{fresh}", "--json").json["origin"]
    assert [one["is_from_submission"] for one in origin["models"]] == [True]
    assert origin["servers"] == [f"http://127.0.0.1:{ollama.port}"]
    assert [one["stages"] for one in origin["workers"]] == [1]
    assert origin["submitter"]["packages"]["numpy"]


def test_a_run_whose_model_is_not_the_one_of_its_submission_fails_and_names_both(
    shared: Installation, ollama: ScriptedOllama
) -> None:
    extractor = ollama.model(lambda prompt: ScriptedReply('{"PHQ8_Sleep": []}'))
    first_digest = ollama.digests[extractor.name] = "sha256:first"
    run_id = shared.submit(
        *("--participants", "316", "--zero-shot-only", "--until", "extract"),
        *("--set", "QUANTITATIVE_EVIDENCE_EXTRACTOR=llm", "--set", f"MODEL_QUANTITATIVE_MODEL={extractor.name}"),
    )
    shared.wait_for(run_id)
    ollama.digests[extractor.name] = "sha256:second"

    # The workers know the first for a minute; the submission asks now.
    second = shared.submit(
        *("--participants", "319", "--zero-shot-only", "--until", "extract"),
        *("--set", "QUANTITATIVE_EVIDENCE_EXTRACTOR=llm", "--set", f"MODEL_QUANTITATIVE_MODEL={extractor.name}"),
    )

    assert shared.wait_for(second) == {"failed": 1}
    (attempt,) = shared.inspect(second, "extract")
    assert (attempt["error"]["category"], extractor.calls) == ("model_changed", 1)
    assert first_digest in attempt["error"]["message"]
    assert "sha256:second" in attempt["error"]["message"]
    assert f"`ragq retry r{second}`" in attempt["error"]["message"]
