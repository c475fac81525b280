"""The first run of a user: three participants of the test split, few-shot, with the audit trail on."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from schemas.settings.run import RUN_SETTINGS
from schemas.values.participants import PHQ8Item
from tests.acceptance.conftest import Install
from tests.acceptance.harness import Installation, judged_by
from tests.acceptance.small_data_set import TEST, TRAIN, utterances_of
from tests.adapters.tiny_cross_encoder import tiny_cross_encoder
from tests.scripted_ollama import ACCEPT, ScriptedOllama, ScriptedReply

TYPED = ("--split", "paper-test", "--limit", "3", "--until", "score")
AUDITED = ("--set", "EMBEDDING_ENABLE_RETRIEVAL_AUDIT=true")
SCORES = json.dumps({item.evidence_key: {"score": 1, "confidence": 4} for item in PHQ8Item})
FEW = ("--bootstrap-resamples", "2")
AUDIT_FIELDS = {
    *("item", "evidence_key", "rank", "similarity"),
    *("participant_id", "reference_score", "chunk_hash", "chunk_chars"),
}


@dataclass(frozen=True)
class FirstRun:
    """A finished run and the states of its jobs."""

    installation: Installation
    run_id: int
    states: dict[str, int]

    @property
    def report(self) -> Any:
        """Its report, which has to be strict JSON."""
        printed = self.installation.ragq("report", f"r{self.run_id}", "--json", *FEW).stdout
        return json.loads(printed, parse_constant=pytest.fail)


@pytest.fixture(scope="module")
def first_run(
    install: Install, indexed_template: str, ollama: ScriptedOllama, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FirstRun]:
    """With a cross-encoder, and token signals that the server does not give."""
    model = ollama.model(lambda prompt: ScriptedReply(SCORES if "<transcript>" in prompt else ACCEPT))
    weights = tiny_cross_encoder(tmp_path_factory.mktemp("tiny_cross_encoder"))
    more = ("RAGQ_RERANKER=cross_encoder", f"RAGQ_RERANKER_MODEL={weights}", "RAGQ_TOKEN_SIGNALS=true")
    with install(indexed_template) as installation:
        installation.start_worker()
        options = [word for setting in (*more, f"MODEL_QUANTITATIVE_MODEL={model.name}") for word in ("--set", setting)]
        run_id = installation.submit(*TYPED, *AUDITED, *options, *judged_by(model.name))
        yield FirstRun(installation, run_id, installation.wait_for(run_id))


def test_three_participants_of_the_paper_test_split_are_reported(first_run: FirstRun) -> None:
    """Row A 9: it runs, every setting is shown, and the report is strict JSON."""
    assert first_run.states == {"succeeded": 3}
    report = first_run.report
    assert sorted(one["participant_id"] for one in report["experiments"][0]["results"]["results"]) == list(TEST)
    assert report["settings"].keys() == RUN_SETTINGS.keys()
    assert report["settings"]["EMBEDDING_ENABLE_RETRIEVAL_AUDIT"] == {"value": True, "source": "option"}


def test_audit_events_hold_hashes_and_no_text(first_run: FirstRun) -> None:
    """Row A 9: one event per kept reference, of exactly the fields of Spec 32 and the job's."""
    lines = [json.loads(line) for line in first_run.installation.logs.splitlines() if '"retrieved_reference"' in line]
    kept = [
        reference
        for ordinal in range(3)
        for attempt in first_run.installation.inspect(first_run.run_id, "validate", ordinal=ordinal)
        for references in attempt["output"]["items"].values()
        for reference in references
    ]
    assert sorted(line["chunk_hash"] for line in lines) == sorted(reference["chunk_hash"] for reference in kept)
    assert kept
    assert all(line.keys() >= {*AUDIT_FIELDS, "run_id", "job_id"} for line in lines)
    printed = json.dumps(lines)
    assert not [text for person in (*TRAIN, *TEST) for text in utterances_of(person) if text in printed]


def test_the_cross_encoder_that_ran_is_named_and_both_scores_are_kept(first_run: FirstRun) -> None:
    (attempt,) = first_run.installation.inspect(first_run.run_id, "rerank")

    ranker = f"cross_encoder {Path(first_run.report['settings']['RAGQ_RERANKER_MODEL']['value'])}"
    assert first_run.report["experiments"][0]["provenance"]["rankers"] == [ranker]
    assert (attempt["output"]["ranker"], len(attempt["output"]["ranker_digest"])) == (ranker, 64)
    ranked = [references for references in attempt["output"]["items"].values() if references]
    assert ranked
    for references in ranked:
        scores = [reference["rerank_score"] for reference in references]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= reference["similarity"] <= 1 for reference in references)
