"""Workers are killed at any point: another continues, and nothing is stored or paid twice."""

import json
import time
from pathlib import Path

import pytest

from schemas.chains import stages_of
from schemas.values.participants import PHQ8Item
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.fault_tolerance.breakable import BreakableInstallation
from tests.acceptance.harness import extracted_by, judged_by, setting
from tests.acceptance.shelf import QUESTION, SHORT, write_shelf
from tests.acceptance.small_data_set import small_files, transcript_file, write_files
from tests.acceptance.wardrobe import write_wardrobe
from tests.eventually import eventually
from tests.scripted_ollama import ACCEPT, ScriptedModel, ScriptedOllama, ScriptedReply
from tests.stages.participants.score_replies import reply_of

FEW_SHOT = stages_of("participant", "few_shot")
INDEX = stages_of("index", "references")
ANSWER = stages_of("query", "answer")
CANDIDATES = stages_of("tags", "candidates")
EXPANSION = {"queries": ["oxidation"], "hyde_answer": "Enzymes darken it.", "intent": "MECHANISM", "entities": ["tea"]}
ANSWERS = """
SELECT r.response_text, r.model FROM results AS r
JOIN queries AS q ON q.id = r.query_id JOIN job AS j ON j.id = q.job_id
WHERE j.run_id = $1
"""

#: One crash point before the output is stored and one after, with the outcome of the first attempt of a stage.
#: tests/workers/test_runner.py holds the other crash points of the runner. What follows the output is the same for
#: every chain: workers of questions, tags and documents are killed before it alone.
OUTCOME_AT = {"before_commit": "interrupted", "after_commit": "succeeded"}


@pytest.mark.parametrize("point", OUTCOME_AT)
def test_a_worker_killed_in_every_stage_loses_and_repeats_nothing(
    breakable: BreakableInstallation, ollama: ScriptedOllama, judge: ScriptedModel, evidence: GiveEvidence, point: str
) -> None:
    scorer = ollama.model(lambda prompt: ScriptedReply(reply_of()))
    work = (*evidence({316: 2}), *judged_by(judge.name), "--set", f"MODEL_QUANTITATIVE_MODEL={scorer.name}")
    with breakable.supervised(RAGQ_CRASH_AT=f"{point}#1") as supervisor:
        run_id = breakable.submit(*work, "--until", "score")
        attempts = breakable.assert_recovered(run_id, jobs=1)

    assert supervisor.deaths >= len(FEW_SHOT) - 1
    assert {stage: outcomes[0] for (_, stage), outcomes in attempts.items()} == dict.fromkeys(
        FEW_SHOT, OUTCOME_AT[point]
    )
    assert set((judge.calls_per_prompt + scorer.calls_per_prompt).values()) == {1}


def reply_to_question(prompt: str) -> ScriptedReply:
    """Expands, validates and answers."""
    if "Source:" in prompt:
        return ScriptedReply("It is the oxygen [S1].")
    return ScriptedReply(json.dumps(EXPANSION) if "hyde_answer" in prompt else ACCEPT)


def test_a_worker_killed_in_every_stage_of_a_question_loses_and_repeats_nothing(
    breakable: BreakableInstallation, ollama: ScriptedOllama, tmp_path: Path
) -> None:
    worker = breakable.start_worker()
    breakable.do("import", "works", str(write_shelf(tmp_path / "shelf")), "--corpus", "shelf", "--wait")
    worker.kill()
    model = ollama.model(reply_to_question)
    by = setting(f"RAGQ_QUERY_MODEL={model.name}", f"validation.model={model.name}", "validation.enabled=true")
    with breakable.supervised(RAGQ_CRASH_AT="before_commit#1") as supervisor:
        run_id = breakable.submit("--query", QUESTION, "--corpus", "shelf", "--until", "generate", *SHORT, *by)
        attempts = breakable.assert_recovered(run_id, jobs=1)

    assert supervisor.deaths >= len(ANSWER) - 1
    assert {stage: outcomes[0] for (_, stage), outcomes in attempts.items()} == dict.fromkeys(ANSWER, "interrupted")
    assert set(model.calls_per_prompt.values()) == {1}
    assert breakable.rows(ANSWERS, run_id) == [{"response_text": "It is the oxygen [S1].", "model": model.name}]


def test_a_worker_killed_in_every_stage_of_phrases_and_vocabulary_loses_nothing(
    breakable: BreakableInstallation, tmp_path: Path
) -> None:
    breakable.do("import", "tags", str(write_wardrobe(tmp_path / "wardrobe")))
    (tmp_path / "phrases.txt").write_text("overcoat, tees\n")
    by = ("--phrases", str(tmp_path / "phrases.txt"), "--vocabulary", "wardrobe", "--until", "validate")

    with breakable.supervised(RAGQ_CRASH_AT="before_commit#1") as supervisor:
        built = breakable.ragq("index", "tags", "wardrobe", "--json").json["run_id"]
        building = breakable.assert_recovered(built, jobs=1)
        run_id = breakable.submit(*by)
        attempts = breakable.assert_recovered(run_id, jobs=1)
        # The last message of a chain may still be queued when its run is idle.
        deaths = supervisor.deaths

    assert building[0, "embed"][0] == "interrupted"
    assert breakable.value("SELECT count(*) FROM vocabulary WHERE indexed_at IS NOT NULL") == 1
    assert deaths >= len(CANDIDATES)
    assert {stage: outcomes[0] for (_, stage), outcomes in attempts.items()} == dict.fromkeys(CANDIDATES, "interrupted")
    (found,) = breakable.ragq("tags", "show", f"r{run_id}", "--json").json["sets"]
    assert {candidate["tag"] for candidate in found["result"]} == {"coat", "shirt"}


def test_a_worker_killed_after_sending_the_next_message_loses_nothing(
    breakable: BreakableInstallation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    with breakable.supervised(workers=1, RAGQ_CRASH_AT="after_publish@retrieve#1") as supervisor:
        run_id = breakable.submit(*evidence({316: 2}), *judged_by(judge.name))
        attempts = breakable.assert_recovered(run_id, jobs=1)

    assert supervisor.deaths == 1
    assert attempts[0, "retrieve"] == ["succeeded"]
    assert set(judge.calls_per_prompt.values()) == {1}


@pytest.mark.parametrize("point", OUTCOME_AT)
def test_an_index_is_published_once_however_often_its_workers_die(breakable: BreakableInstallation, point: str) -> None:
    with breakable.supervised(RAGQ_CRASH_AT=f"{point}#1") as supervisor:
        built = breakable.ragq("index", "references", "--new", "--json").json
        breakable.assert_recovered(int(built["run"].removeprefix("r")), jobs=3)

    assert supervisor.deaths >= len(INDEX) - 1
    (index,) = breakable.ragq("index", "list", "--json").json["items"]
    assert (f"r{index['run_id']}", index["participants"]) == (built["run"], 3)
    vectors = breakable.value("SELECT count(*) FROM reference_vector WHERE index_id = $1", index["id"])
    assert vectors == index["chunks"]


@pytest.mark.parametrize("point", OUTCOME_AT)
def test_a_partial_index_is_published_once_whenever_its_worker_dies_and_a_retry_completes_it(
    breakable: BreakableInstallation, data_directory: Path, evidence: GiveEvidence, tmp_path: Path, point: str
) -> None:
    """The last participant fails, so that another job publishes in a second attempt, which is killed."""
    (before,) = breakable.ragq("index", "list", "--json").json["items"]
    started = breakable.ragq("index", "references", "--new", "--allow-partial", "--json").json["run"]
    run_id = int(started.removeprefix("r"))
    cut = b"".join(small_files()[transcript_file(313)].splitlines(keepends=True)[:50])
    files = write_files(tmp_path / "cut", {**small_files(), transcript_file(313): cut})
    job_id = breakable.value("SELECT id FROM job WHERE run_id = $1 AND subject = '313'", run_id)
    breakable.ragq("pause", f"j{job_id}")
    name = breakable.value("SELECT min(data_set) FROM participant")
    breakable.ragq("import", "participants", str(files), "--name", name, "--replace")
    with breakable.supervised(workers=1, RAGQ_CRASH_AT=f"{point}@publish#2") as supervisor:
        breakable.wait_until("SELECT count(*) = 2 FROM job WHERE run_id = $1 AND status = 'succeeded'", run_id)
        assert [index["id"] for index in breakable.ragq("index", "list", "--json").json["items"]] == [before["id"]]
        breakable.ragq("resume", f"j{job_id}")
        assert breakable.ragq("watch", started).exit_code == 3
        # What it did last may be seen a moment before.
        eventually(lambda: supervisor.deaths > 0)

    (index,) = breakable.ragq("index", "list", "--json").json["items"]
    assert (index["run_id"], index["participants"], index["partial"]["skipped_participants"]) == (run_id, 2, [313])
    assert breakable.value("SELECT count(*) FROM reference_index WHERE run_id = $1", run_id) == 1
    vectors = breakable.value("SELECT count(*) FROM reference_vector WHERE index_id = $1", index["id"])
    assert (vectors, supervisor.deaths) == (index["chunks"], 1)
    breakable.do("audit", started)

    breakable.start_worker()
    search = breakable.submit(*evidence({316: 1}), "--few-shot-only", "--until", "retrieve")
    assert breakable.wait_for(search) == {"succeeded": 1}
    assert "The reference index lacks participant 313." in breakable.ragq("show", f"r{search}").stdout
    breakable.ragq("import", "participants", str(data_directory), "--replace")
    breakable.do("retry", started)
    assert breakable.wait_for(run_id) == {"succeeded": 3}
    (whole,) = breakable.ragq("index", "list", "--json").json["items"]
    assert (whole["run_id"], whole["chunks"], whole["partial"]) == (run_id, before["chunks"], None)
    replaced = breakable.rows("SELECT chunks, replaced_at FROM reference_index WHERE id = $1", index["id"])
    assert (replaced[0]["chunks"], replaced[0]["replaced_at"] is not None) == (index["chunks"], True)


def test_a_killed_scoring_is_invisible_and_resumes(breakable: BreakableInstallation, ollama: ScriptedOllama) -> None:
    reply = json.dumps({item.evidence_key: None for item in PHQ8Item})
    scorer = ollama.model(lambda prompt: ScriptedReply(reply, delay_s=60 if scorer.calls > 20 else 0))
    (index,) = breakable.ragq("index", "list", "--json").json["items"]
    command = ("index", "chunk-scores", index["name"], "--scorer-model", scorer.name, "--json")
    worker = breakable.start_worker()
    run_id = breakable.ragq(*command).json["run_id"]
    eventually(lambda: scorer.calls > 20)

    worker.kill()

    assert breakable.value("SELECT count(*) FROM reference_chunk WHERE scores IS NOT NULL") == 0
    scorer.answer = lambda prompt: ScriptedReply(reply)
    again = breakable.ragq(*command).json
    breakable.start_worker()
    assert (again["run_id"], again["is_new"]) == (run_id, False)
    breakable.assert_recovered(run_id, jobs=index["chunks"])
    assert breakable.value("SELECT count(*) FROM reference_chunk WHERE scores IS NOT NULL") == index["chunks"]
    # Only the calls that were open when the worker was killed are made again.
    assert scorer.calls - index["chunks"] <= 8


def test_a_job_that_kills_its_workers_is_poisoned_and_its_neighbours_are_not(
    breakable: BreakableInstallation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    """The neighbours run `extract` at every kill: if they shared the process, they would be killed too."""
    judge.answer = lambda prompt: ScriptedReply(json.dumps({item.evidence_key: [] for item in PHQ8Item}), delay_s=1)
    neighbours = breakable.submit("--participants", "319,330", "--zero-shot-only", *extracted_by(judge.name))
    poison = breakable.submit(*evidence({316: 1}), *judged_by(judge.name))

    with breakable.supervised(workers=1, RAGQ_CRASH_AT="after_claim@embed", RAGQ_MAX_INTERRUPTIONS="3") as supervisor:
        assert breakable.wait_for(poison) == {"poisoned": 1}
        breakable.assert_recovered(neighbours, jobs=2)

    assert breakable.attempts(poison)[0, "embed"] == ["interrupted"] * 3
    assert supervisor.deaths == 3


def test_a_worker_that_slept_past_its_lease_stores_nothing_and_only_its_open_call_is_asked_again(
    breakable: BreakableInstallation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    judge.answer = lambda prompt: ScriptedReply(delay_s=1 if judge.calls == 3 else 0)
    sleeper = breakable.start_worker()
    run_id = breakable.submit(*evidence({316: 2}), *judged_by(judge.name))
    eventually(lambda: judge.calls == 3)
    sleeper.freeze()
    breakable.start_worker()
    attempts = breakable.assert_recovered(run_id, jobs=1)
    assert sorted(judge.calls_per_prompt.values()) == [1, 1, 1, 2]

    sleeper.thaw()

    eventually(lambda: "stage_result_thrown_away" in sleeper.output)
    assert breakable.assert_recovered(run_id, jobs=1) == attempts
    assert attempts[0, "validate"] == ["interrupted", "succeeded"]
    assert sorted(judge.calls_per_prompt.values()) == [1, 1, 1, 2]


def test_ten_copies_of_every_message_have_one_effect(
    breakable: BreakableInstallation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    run_id = breakable.submit(*evidence({316: 1, 319: 1, 330: 1}), *judged_by(judge.name))
    breakable.send_again(run_id, times=9)

    with breakable.supervised(workers=2):
        attempts = breakable.assert_recovered(run_id, jobs=3)

    assert set(map(tuple, attempts.values())) == {("succeeded",)}
    assert set(judge.calls_per_prompt.values()) == {1}


def test_a_pool_of_threads_and_one_of_processes_share_a_run(
    breakable: BreakableInstallation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    # So long that the thread cannot answer for all three before a process takes one.
    judge.answer = lambda prompt: ScriptedReply(delay_s=2)
    threads = breakable.start_worker(pool="threads", concurrency=1)
    breakable.start_worker(pool="processes", concurrency=2, RAGQ_CRASH_AT="before_commit@validate#1")
    run_id = breakable.submit(*evidence({316: 1, 319: 1, 330: 1}), *judged_by(judge.name))

    attempts = breakable.assert_recovered(run_id, jobs=3)

    died = [outcomes for outcomes in attempts.values() if outcomes != ["succeeded"]]
    assert died == [["interrupted", "succeeded"]] * len(died) != []
    pids = breakable.rows("SELECT DISTINCT pid FROM stage_attempt AS a JOIN worker AS w ON w.id = a.worker_id")
    assert threads.pid in {row["pid"] for row in pids}


def test_another_worker_dispatches_seconds_after_the_dispatcher_was_killed(
    breakable: BreakableInstallation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    workers = [breakable.start_worker() for _ in range(2)]
    eventually(lambda: any("dispatcher_elected" in worker.output for worker in workers))
    (killed,) = (worker for worker in workers if "dispatcher_elected" in worker.output)
    (other,) = (worker for worker in workers if worker is not killed)

    killed.kill()
    began = time.monotonic()
    eventually(lambda: "dispatcher_elected" in other.output)
    took_s = time.monotonic() - began

    run_id = breakable.submit(*evidence({316: 1}), *judged_by(judge.name))
    breakable.assert_recovered(run_id, jobs=1)
    # Idle it is less than two seconds; without the election nobody would dispatch at all.
    assert took_s < 10
