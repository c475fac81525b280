"""A call that was answered once is never paid for again, in any run."""

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.scripted_ollama import REJECT, UNSURE, ScriptedModel, ScriptedOllama, ScriptedReply


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


def test_reject_and_unsure_keep_a_reference_out_and_the_next_one_is_asked_about(
    shared: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    judge.answer = lambda prompt: ScriptedReply({1: REJECT, 2: UNSURE}.get(judge.calls, ScriptedReply().text))
    run_id = shared.submit(*evidence({316: 1}), *judged_by(judge.name))

    assert shared.wait_for(run_id) == {"succeeded": 1}
    output = shared.inspect(run_id, "validate")[0]["output"]
    verdicts = output["verdicts"]["NoInterest"]
    assert [verdict["decision"] for verdict in verdicts] == ["reject", "unsure", "accept"]
    assert [kept["chunk_id"] for kept in output["items"]["NoInterest"]] == [verdicts[2]["chunk_id"]]


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
