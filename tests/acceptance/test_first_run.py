"""The first run of a user: three participants of the test split, few-shot, with the audit trail on."""

import json
from pathlib import Path

import psutil
import pytest

from schemas.settings.run import RUN_SETTINGS
from schemas.values.participants import PHQ8Item
from tests.acceptance.conftest import Install
from tests.acceptance.harness import judged_by, setting
from tests.acceptance.small_data_set import TEST, TRAIN, utterances_of
from tests.adapters.tiny_cross_encoder import tiny_cross_encoder
from tests.scripted_ollama import ACCEPT, ScriptedOllama, ScriptedReply

TYPED = ("--split", "paper-test", "--limit", "3", "--until", "score")
AUDITED = ("--set", "EMBEDDING_ENABLE_RETRIEVAL_AUDIT=true")
SCORES = json.dumps({item.evidence_key: {"score": 1, "confidence": 4} for item in PHQ8Item})
WORKED = """
SELECT DISTINCT w.pid FROM stage_attempt AS a
JOIN worker AS w ON w.id = a.worker_id JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1
"""
AUDIT_FIELDS = {
    *("item", "evidence_key", "rank", "similarity"),
    *("participant_id", "reference_score", "chunk_hash", "chunk_chars"),
}


def test_three_participants_of_the_paper_test_split_are_reported_and_audited_without_text(
    install: Install, indexed_template: str, ollama: ScriptedOllama, tmp_path: Path
) -> None:
    """Row A 9. On Celery's own pool of processes, with a cross-encoder, and token signals that the server lacks."""
    model = ollama.model(lambda prompt: ScriptedReply(SCORES if "<transcript>" in prompt else ACCEPT))
    weights = tiny_cross_encoder(tmp_path / "weights")
    more = ("RAGQ_RERANKER=cross_encoder", f"RAGQ_RERANKER_MODEL={weights}", "RAGQ_TOKEN_SIGNALS=true")
    options = setting(*more, f"MODEL_QUANTITATIVE_MODEL={model.name}")
    with install(indexed_template) as installation:
        worker = installation.start_worker(pool="processes", concurrency=2)
        children = {child.pid for child in psutil.Process(worker.pid).children()}
        run_id = installation.submit(*TYPED, *AUDITED, *options, *judged_by(model.name))
        assert installation.wait_for(run_id) == {"succeeded": 3}
        printed = installation.ragq("report", f"r{run_id}", "--json", "--bootstrap-resamples", "2").stdout
        (ranked,) = installation.inspect(run_id, "rerank")
        validated = [installation.inspect(run_id, "validate", ordinal=ordinal)[0] for ordinal in range(3)]
        # A child builds what it needs after the fork.
        assert {row["pid"] for row in installation.rows(WORKED, run_id)} <= children
        worker.stop()
    assert "Traceback" not in worker.output

    report = json.loads(printed, parse_constant=pytest.fail)
    (experiment,) = report["experiments"]
    assert sorted(one["participant_id"] for one in experiment["results"]["results"]) == list(TEST)
    assert report["settings"].keys() == RUN_SETTINGS.keys()
    assert report["settings"]["EMBEDDING_ENABLE_RETRIEVAL_AUDIT"] == {"value": True, "source": "option"}

    # One event per kept reference, of exactly the fields of Spec 32 and the job's.
    lines = [json.loads(line) for line in worker.output.splitlines() if '"retrieved_reference"' in line]
    kept = [
        reference["chunk_hash"]
        for attempt in validated
        for references in attempt["output"]["items"].values()
        for reference in references
    ]
    assert sorted(line["chunk_hash"] for line in lines) == sorted(kept) != []
    assert all(line.keys() >= {*AUDIT_FIELDS, "run_id", "job_id"} for line in lines)
    texts = [text for person in (*TRAIN, *TEST) for text in utterances_of(person)]
    assert not [text for text in texts if text in json.dumps(lines)]

    # The cross-encoder that ran is named, and both scores are kept.
    ranker = f"cross_encoder {weights}"
    assert experiment["provenance"]["rankers"] == [ranker]
    assert (ranked["output"]["ranker"], len(ranked["output"]["ranker_digest"])) == (ranker, 64)
    found = [references for references in ranked["output"]["items"].values() if references]
    assert found
    for references in found:
        scores = [reference["rerank_score"] for reference in references]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= reference["similarity"] <= 1 for reference in references)
