"""A researcher's day by commands with `--json` alone: from a dry run to the comparison of a sweep."""

from typing import Any

from schemas.chains import stages_of
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.scripted_ollama import ScriptedModel, ScriptedOllama, ScriptedReply
from tests.stages.participants.score_replies import reply_of

STAGES = stages_of("participant", "few_shot")
BEFORE = STAGES[: STAGES.index("rerank")]
LEASE = {"RAGQ_LEASE_SECONDS": "1.5"}
UPSTREAM = """
SELECT count(*)::integer FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND a.stage = ANY($2) AND a.worker_id <> 'copied'
"""


def computed_upstream(installation: Installation, run_id: int) -> int:
    """The attempts of workers before `rerank`."""
    found: int = installation.value(UPSTREAM, run_id, BEFORE)
    return found


def test_a_whole_day_by_json_alone(
    fresh: Installation, ollama: ScriptedOllama, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    replies: dict[str, Any] = {"is_broken": True}
    scorer = ollama.model(lambda prompt: ScriptedReply("no scores" if replies["is_broken"] else reply_of()))
    fresh.settings |= LEASE
    work = (
        *evidence({316: 2, 319: 2}),
        *judged_by(judge.name),
        *("--set", f"MODEL_QUANTITATIVE_MODEL={scorer.name}", "--set", "PYDANTIC_AI_RETRIES=0", "--until", "score"),
    )

    def ragq(*arguments: str, exit_code: int = 0) -> Any:
        done = fresh.ragq(*arguments, "--json")
        assert done.exit_code == exit_code, (arguments, done.stdout, done.stderr)
        return done.json

    planned = ragq("submit", *work, "--dry-run")
    assert (planned["jobs"], planned["existing_run"]) == (2, None)
    assert planned["models"] == {judge.name: "available", scorer.name: "available"}
    assert fresh.value("SELECT count(*) FROM run WHERE kind = 'participant'") == 0

    submitted = ragq("submit", *work)
    run_id, run = submitted["run_id"], f"r{submitted['run_id']}"
    killed = fresh.start_worker(RAGQ_CRASH_AT="after_compute@retrieve#1")
    fresh.wait_until("SELECT EXISTS (SELECT FROM stage_attempt WHERE stage = 'retrieve' AND outcome = 'running')")
    killed.kill()
    fresh.start_worker()

    watched = ragq("watch", run, exit_code=3)
    assert watched["overview"]["states"] == {"failed": 2}
    replies["is_broken"] = False
    retried = ragq("retry", run)
    assert len(retried["jobs"]) == 2
    assert ragq("watch", run)["overview"]["states"] == {"succeeded": 2}

    job = ragq("show", run)["jobs"][0]
    attempts = ragq("inspect", f"j{job['job_id']}")["attempts"]
    assert [attempt["outcome"] for attempt in attempts if attempt["stage"] == "score"] == ["failed", "succeeded"]
    assert fresh.value("SELECT count(*) FROM stage_attempt WHERE outcome = 'interrupted'") >= 1
    lineage = {attempt["stage"]: attempt for attempt in attempts if attempt["outcome"] == "succeeded"}
    assert list(lineage) == list(STAGES)
    assert lineage["rerank"]["inputs"].keys() >= {"retrieve"}

    paid = fresh.value("SELECT count(*) FROM llm_call_use WHERE NOT is_reused")
    assert paid <= planned["calls_at_most"] + 2

    again = ragq("submit", *work, "--dry-run")
    assert (again["existing_run"], again["basis"]) == (run, [run])
    assert again["seconds"] > 0

    forked = ragq("fork", run, "--from", "rerank", "--set", "EMBEDDING_TOP_K_REFERENCES=1")
    fork_id = int(forked["run"].removeprefix("r"))
    assert ragq("watch", forked["run"])["overview"]["states"] == {"succeeded": 2}
    assert computed_upstream(fresh, fork_id) == 0
    assert ragq("show", forked["run"])["family"]["parent_id"] == run_id
    assert ragq("audit", forked["run"])["flaws"] == []

    # The verification of the original's specification 33: threshold .6 and budget 800.
    grid = ("EMBEDDING_MIN_REFERENCE_SIMILARITY=0.6", "EMBEDDING_MAX_REFERENCE_CHARS_PER_ITEM=800")
    sweep = ("sweep", run, "--from", "rerank", "--grid", grid[0], "--grid", grid[1])
    swept = ragq(*sweep)
    (point,) = swept["points"]
    assert swept["points"][point] == dict(part.split("=") for part in grid)
    assert computed_upstream(fresh, int(point.removeprefix("r"))) == 0
    assert swept["results"][0]["runs"] == [run, point]
    assert "chosen on the same subjects" in swept["warning"]
    assert ragq(*sweep) == swept

    (compared,) = ragq("diff", run, forked["run"], point)
    assert compared["comparisons"] == 2
    assert set(compared["settings"]) == {
        "EMBEDDING_TOP_K_REFERENCES",
        "EMBEDDING_MIN_REFERENCE_SIMILARITY",
        "EMBEDDING_MAX_REFERENCE_CHARS_PER_ITEM",
    }
    assert compared["compared"][0]["measures"]["few_shot"]["item_mae_weighted"]["subjects"] == 2

    assert ragq("retry", f"j{job['job_id']}", "--from", "assemble")["from"] == "assemble"
    assert ragq("watch", run)["overview"]["states"] == {"succeeded": 2}
