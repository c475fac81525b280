"""Answers are judged by the model of the validator, as a run of its own."""

import json
from pathlib import Path

import pytest

from tests.acceptance.harness import Installation, setting
from tests.acceptance.shelf import QUESTION, SHORT
from tests.scripted_ollama import ScriptedModel, ScriptedOllama, ScriptedReply

ANSWER = "Oxygen darkens the catechins of the leaf [S1]. Steel is darker [S1][S9]. So much for tea."
REFERENCE = "Oxygen darkens the catechins of the leaf. Warmth stops this."
QUERIES = [
    {"_id": "tea", "text": QUESTION, "reference_answer": REFERENCE},
    {"_id": "arch", "text": "What keeps the stones of an arch together?"},
]


@pytest.fixture
def judge(ollama: ScriptedOllama) -> ScriptedModel:
    """Accepts passages about leaves; of statements those about catechins, and is unsure about `tea`."""

    def decide(prompt: str) -> ScriptedReply:
        statement = prompt.rpartition("<<< statement")[2].lower()
        decision = "accept" if not statement or "catechins" in statement else "reject"
        return ScriptedReply(json.dumps({"decision": "unsure" if "for tea" in statement else decision}))

    return ollama.model(decide)


def test_answers_are_evaluated_forked_and_deleted_with_their_question(
    shelved: Installation, ollama: ScriptedOllama, judge: ScriptedModel, tmp_path: Path
) -> None:
    shelved.start_worker()
    queries, qrels = tmp_path / "queries.jsonl", tmp_path / "qrels.tsv"
    queries.write_text("".join(json.dumps(line) + "\n" for line in QUERIES))
    qrels.write_text("query-id\tcorpus-id\tscore\ntea\ttea\t1\n")
    writer = ollama.model(lambda prompt: ScriptedReply(ANSWER))
    values = setting(f"RAGQ_QUERY_MODEL={writer.name}", "validation.enabled=true", f"validation.model={judge.name}")
    run_id = shelved.submit(
        *("--queries", str(queries), "--qrels", str(qrels), "--corpus", "shelf", "--no-expand", *SHORT),
        *("--until", "generate", *values),
    )
    assert shelved.wait_for(run_id) == {"succeeded": 2}, shelved.logs
    estimate = shelved.do("evaluate", f"r{run_id}", "--dry-run", "--json")
    before = judge.calls

    evaluation = shelved.do("evaluate", f"r{run_id}", "--wait", "--json").json["run"]["id"]

    paid = judge.calls - before
    assert 0 < paid <= estimate.json["calls_at_most"]
    report = shelved.ragq("report", f"r{evaluation}", "--json").json
    assert (report["evaluates"], report["judge"]) == (f"r{run_id}", judge.name)
    counts = report["counts"]
    assert (counts["questions"], counts["scored"], counts["with_reference"]) == (2, 2, 1)
    assert {name: (found["share"]["value"], found["undecided"]) for name, found in report["measures"].items()} == {
        # In both answers one of the citations supports its sentence, one does not, and one names no source.
        "citation_precision": (pytest.approx(1 / 3), 0),
        # Of both, one sentence of three is supported; one cites nothing.
        "citation_recall": (pytest.approx(1 / 3), 0),
        # By the reference answer: one is, one is not, and the judge is unsure about the last.
        "correctness": (0.5, 1),
        "completeness": (0.5, 0),
    }
    assert [one["shares"]["correctness"] for one in report["answers"]] == [0.5, None]
    shelved.do("audit", f"r{evaluation}")

    sheet = tmp_path / "labels.csv"
    shelved.do("evaluate", f"r{evaluation}", "--sheet", str(sheet))
    assert sheet.stat().st_mode & 0o777 == 0o600
    assert shelved.ragq("evaluate", f"r{evaluation}", "--sheet", str(sheet)).exit_code == 2
    sheet.write_text("\n".join(f"{line}yes" if line.endswith(",") else line for line in sheet.read_text().split("\n")))
    quality = shelved.ragq("evaluate", f"r{evaluation}", "--labels", str(sheet), "--json").json
    # Of each answer the judge accepts one of two sentences, and people both.
    assert (quality["true_accepts"], quality["false_rejects"], quality["corrected"]) == (2, 2, None)

    shelved.do("fork", f"r{evaluation}", "--from", "judge", "--set", "RAGQ_VALIDATION_MAX_CHARS=100", "--wait")

    (tea,) = [line["id"] for line in shelved.ragq("query", "list", "--json").json["items"] if QUESTION in str(line)]
    shelved.do("query", "delete", str(tea), "--yes")
    kept = shelved.rows("SELECT output::text FROM stage_attempt WHERE stage IN ('split', 'judge')")
    assert kept, "those of the answer to the other question"
    assert not any(QUESTION in str(row) for row in kept)
    assert shelved.value("SELECT count(*) FROM llm_call WHERE request::text LIKE '%Warmth stops this%'") == 0
