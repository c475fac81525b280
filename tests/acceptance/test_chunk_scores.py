"""The chunks of an index are scored by real workers: all of them or none, and runs show those scores."""

import json
from typing import Any

from schemas.values.participants import PHQ8Item
from stages.participants.chunking import PROMPT_HASH
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation
from tests.scripted_ollama import ScriptedOllama, ScriptedReply

CHUNKS = 81
NAME = "huggingface_all_minilm_l6_v2_paper_train"
SCORED = "SELECT count(*) FROM reference_chunk WHERE scores IS NOT NULL"
BY_CHUNK = (
    *("--few-shot-only", "--set", "EMBEDDING_REFERENCE_SCORE_SOURCE=chunk"),
    *("--set", "EMBEDDING_ENABLE_REFERENCE_VALIDATION=false"),
)


def scores_reply(no_interest: int) -> str:
    """A usable reply: every item null but the first."""
    return json.dumps(dict.fromkeys((item.evidence_key for item in PHQ8Item), None) | {"PHQ8_NoInterest": no_interest})


def score_chunks(installation: Installation, model: str, *options: str) -> Any:
    """Submit the scoring of every chunk. The run's number."""
    return installation.do("index", "chunk-scores", NAME, "--scorer-model", model, "--json", *options).json["run_id"]


def meta_of(installation: Installation) -> Any:
    (index,) = installation.ragq("index", "list", "--json").json["items"]
    return index["chunk_scores_meta"]


def test_the_scores_of_an_index_appear_all_at_once_and_a_run_keeps_to_those_of_its_submission(
    fresh: Installation, ollama: ScriptedOllama, evidence: GiveEvidence
) -> None:
    """One chunk fails first; the model scores every chunk 2 for NoInterest and null for the other items."""
    useless: list[str] = []

    def answer(prompt: str) -> ScriptedReply:
        if scorer.calls == 40 or (useless and prompt.startswith(useless[0]) and len(useless) < 3):
            useless.append(prompt)
            return ScriptedReply("no score at all")
        return ScriptedReply(scores_reply(2))

    scorer = ollama.model(answer)
    scoring = fresh.start_worker(stages=("score", "publish"))
    run_id = score_chunks(fresh, scorer.name)
    assert fresh.wait_for(run_id) == {"failed": 1, "succeeded": CHUNKS - 1}
    (failed,) = [job for job in fresh.ragq("show", f"r{run_id}", "--json").json["jobs"] if job["error"]]
    assert (failed["error"]["category"], failed["subject"].isdigit()) == ("scoring_json_parse", True)
    assert "no score at all" not in fresh.logs
    assert (fresh.value(SCORED), meta_of(fresh)) == (0, None)
    assert fresh.ragq("submit", *evidence({316: 1}), *BY_CHUNK).exit_code == 1

    # The same command again pays for the failed chunk alone, and now all scores are there.
    assert score_chunks(fresh, scorer.name) == run_id
    assert fresh.wait_for(run_id) == {"succeeded": CHUNKS}
    assert sorted(scorer.calls_per_prompt.values()) == [1] * (CHUNKS + 3)
    assert fresh.value(SCORED) == CHUNKS
    meta = meta_of(fresh)
    assert (meta.pop("generated_at")[:2], meta) == (
        "20",
        {
            "scorer_model": scorer.name,
            "scorer_model_digest": f"sha256:{scorer.name}",
            "allow_same_model": False,
            "prompt_hash": PROMPT_HASH,
            "source_embeddings": None,
        },
    )

    # Nobody searches before the index is scored again, by a model that assesses too.
    before = fresh.submit(*evidence({316: 1}), *BY_CHUNK)
    second = ollama.model(lambda prompt: ScriptedReply(scores_reply(1))).name
    assesses = ("--set", f"MODEL_QUANTITATIVE_MODEL={second}")
    refused = fresh.ragq("index", "chunk-scores", NAME, "--scorer-model", second, *assesses)
    assert (refused.exit_code, "--allow-same-model" in refused.stderr) == (1, True)
    assert fresh.value("SELECT max(id) FROM run") == before
    circular = score_chunks(fresh, second, *assesses, "--allow-same-model")
    assert fresh.wait_for(circular) == {"succeeded": CHUNKS}
    assert fresh.value("SELECT request -> 'allow_same_model' FROM run WHERE id = $1", circular) is True
    assert meta_of(fresh)["allow_same_model"] is True
    assert "(the assessing model)" in fresh.ragq("index", "list").stdout
    scoring.stop()
    fresh.start_worker()
    assert fresh.wait_for(before) == {"failed": 1}
    assert "were scored anew since" in fresh.ragq("show", f"r{before}").stdout

    after = fresh.submit(*evidence({316: 2}), *BY_CHUNK, *assesses)
    assert fresh.wait_for(after) == {"succeeded": 1}
    assert "it is shown its own labels" in fresh.ragq("show", f"r{after}").stdout
    items = fresh.inspect(after, "retrieve")[0]["output"]["items"]
    assert {item: {found["score"] for found in references} for item, references in items.items() if references} == {
        "NoInterest": {1},
        "Depressed": {None},
    }
