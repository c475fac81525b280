"""A researcher's day by commands with `--json` alone: from a dry run to the comparison of a sweep."""

from typing import Any

from schemas.chains import stages_of
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.scripted_ollama import ScriptedModel, ScriptedOllama, ScriptedReply
from tests.stages.participants.score_replies import reply_of

STAGES = stages_of("participant", "few_shot")
UPSTREAM = """
SELECT count(*)::integer FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND a.stage = ANY($2) AND a.worker_id <> 'copied'
"""


def test_a_whole_day_by_json_alone(
    shared: Installation, ollama: ScriptedOllama, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    scorer = ollama.model(lambda prompt: ScriptedReply("no scores"))
    by = ("--set", f"MODEL_QUANTITATIVE_MODEL={scorer.name}", "--set", "PYDANTIC_AI_RETRIES=0", "--until", "score")
    work = (*evidence({316: 2, 319: 2}), *judged_by(judge.name), *by)

    def ragq(*arguments: str, exit_code: int = 0) -> Any:
        done = shared.ragq(*arguments, "--json")
        assert done.exit_code == exit_code, (arguments, done.stdout, done.stderr)
        return done.json

    def computed_before_rerank(run: str) -> Any:
        return shared.value(UPSTREAM, int(run.removeprefix("r")), STAGES[: STAGES.index("rerank")])

    planned = ragq("submit", *work, "--dry-run")
    assert (planned["jobs"], planned["existing_run"]) == (2, None)
    assert planned["models"] == {judge.name: "available", scorer.name: "available"}
    submitted = ragq("submit", *work)
    run_id, run = submitted["run_id"], submitted["run"]
    assert ragq("watch", run, exit_code=3)["overview"]["states"] == {"failed": 2}
    assert judge.calls + scorer.calls <= planned["calls_at_most"]
    scorer.answer = lambda prompt: ScriptedReply(reply_of())
    assert len(ragq("retry", run)["jobs"]) == 2
    assert ragq("watch", run)["overview"]["states"] == {"succeeded": 2}

    job = ragq("show", run)["jobs"][0]
    attempts = ragq("inspect", f"j{job['job_id']}")["attempts"]
    assert [attempt["outcome"] for attempt in attempts if attempt["stage"] == "score"] == ["failed", "succeeded"]
    assert [attempt["stage"] for attempt in attempts if attempt["outcome"] == "succeeded"] == list(STAGES)
    again = ragq("submit", *work, "--dry-run")
    assert (again["existing_run"], again["basis"], again["seconds"] > 0) == (run, [run], True)

    forked = ragq("fork", run, "--from", "rerank", "--set", "EMBEDDING_TOP_K_REFERENCES=1")["run"]
    assert ragq("watch", forked)["overview"]["states"] == {"succeeded": 2}
    assert (computed_before_rerank(run), computed_before_rerank(forked)) == (6, 0)
    assert ragq("show", forked)["family"]["parent_id"] == run_id
    assert ragq("audit", forked)["flaws"] == []

    # The verification of the original's specification 33: threshold .6 and budget 800.
    grid = ("EMBEDDING_MIN_REFERENCE_SIMILARITY=0.6", "EMBEDDING_MAX_REFERENCE_CHARS_PER_ITEM=800")
    sweep = ("sweep", run, "--from", "rerank", "--grid", grid[0], "--grid", grid[1])
    swept = ragq(*sweep)
    (point,) = swept["points"]
    assert swept["points"][point] == dict(part.split("=") for part in grid)
    assert computed_before_rerank(point) == 0
    assert swept["results"][0]["runs"] == [run, point]
    assert "chosen on the same subjects" in swept["warning"]
    assert ragq(*sweep) == swept

    (compared,) = ragq("diff", run, forked, point)
    assert compared["comparisons"] == 2
    assert set(compared["settings"]) == {"EMBEDDING_TOP_K_REFERENCES", *(part.split("=")[0] for part in grid)}
    assert compared["compared"][0]["measures"]["few_shot"]["item_mae_weighted"]["subjects"] == 2
    assert ragq("retry", f"j{job['job_id']}", "--from", "assemble")["from"] == "assemble"
    assert ragq("watch", run)["overview"]["states"] == {"succeeded": 2}
