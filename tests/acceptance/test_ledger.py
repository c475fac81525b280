"""A run whose answers are drawn anew pays for them."""

from tests.acceptance.harness import Installation, extracted_by
from tests.scripted_ollama import ScriptedOllama, ScriptedReply


def test_a_fresh_run_pays_for_its_answers_and_every_view_names_their_draw(
    shared: Installation, ollama: ScriptedOllama
) -> None:
    extractor = ollama.model(lambda prompt: ScriptedReply('{"PHQ8_Sleep": []}'))
    work = ("--participants", "316", "--zero-shot-only", "--until", "extract", *extracted_by(extractor.name))
    first = shared.submit(*work)
    shared.wait_for(first)

    fresh = shared.submit(*work, "--fresh")

    assert shared.wait_for(fresh) == {"succeeded": 1}
    assert (fresh != first, extractor.calls) == (True, 2)
    (call,) = shared.inspect(fresh, "extract")[0]["calls"]
    (view,) = shared.ragq("runs", "--limit", "1", "--json").json
    assert (call["is_reused"], call["request"]["draw"], call["paid_by_run"]) == (False, view["draw"], fresh)
    assert call["server"] == f"http://127.0.0.1:{ollama.port}"
    shown = shared.ragq("show", f"r{fresh}", "--json").json
    assert [(job["llm_paid"], job["llm_reused"]) for job in shown["jobs"]] == [(1, 0)]
    origin = shown["origin"]
    assert [one["is_from_submission"] for one in origin["models"]] == [True]
    assert origin["servers"] == [f"http://127.0.0.1:{ollama.port}"]
    assert [one["stages"] for one in origin["workers"]] == [1]
    assert origin["submitter"]["packages"]["numpy"]
