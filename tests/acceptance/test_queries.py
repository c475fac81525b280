"""A question runs through the real queue: from a pasted or a model's expansion to an answer with sources."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Install
from tests.acceptance.harness import Installation, setting
from tests.acceptance.shelf import QUESTION, SHORT, TEA
from tests.scripted_ollama import ScriptedModel, ScriptedOllama, ScriptedReply

EXPANSION = {
    "queries": ["oxidation of catechins in tea leaves"],
    "hyde_answer": "Enzymes oxidise the catechins of the leaf into darker molecules.",
    "intent": "MECHANISM",
    "entities": ["catechins"],
}
ANSWER = "Oxygen darkens the catechins [S1]. Steel does not [S9]."


@pytest.fixture(scope="module")
def asked(install: Install, shelf_template: str) -> Iterator[Installation]:
    """An installation of these tests with the shelf and a worker."""
    with install(shelf_template) as installation:
        installation.start_worker()
        yield installation


@pytest.fixture
def writer(ollama: ScriptedOllama) -> ScriptedModel:
    """A model that expands every question and answers every prompt that has sources."""
    return ollama.model(lambda prompt: ScriptedReply(ANSWER if "Source:" in prompt else json.dumps(EXPANSION)))


def ask(installation: Installation, *options: str, until: str = "generate", model: str | None = None) -> int:
    """Ask the question of the shelf. The run's number."""
    by = () if model is None else ("--set", f"RAGQ_QUERY_MODEL={model}")
    return installation.submit("--query", QUESTION, "--corpus", "shelf", "--until", until, *SHORT, *by, *options)


def shown(installation: Installation, run_id: int) -> Any:
    """The output of `ragq query show` for the run's only question."""
    (query,) = [line for line in installation.ragq("query", "list", "--json").json["items"] if line["run_id"] == run_id]
    return installation.ragq("query", "show", str(query["id"]), "--json").json


def test_a_question_runs_the_whole_chain_by_a_pasted_expansion_and_a_bad_one_is_refused_at_once(
    asked: Installation, ollama: ScriptedOllama, tmp_path: Path
) -> None:
    texts = {"expansion": f"```json\n{json.dumps(EXPANSION)}\n```", "bad": "no JSON at all"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    calls = sum(model.calls for model in ollama.models.values())
    run_id = ask(asked, "--expansion", str(tmp_path / "expansion"), "--set", "RAGQ_ANSWERER=extractive")

    assert asked.wait_for(run_id) == {"succeeded": 1}

    query = shown(asked, run_id)
    assert (query["status"], query["intent"], query["entities_count"]) == ("ready", "MECHANISM", 1)
    retrieved = query["stages"]["retrieve"]
    assert [(ranked["leg"], ranked["text"]) for ranked in retrieved["lists"]] == [
        ("dense", "original"),
        ("dense", "mqe"),
        ("dense", "hyde"),
        ("lexical", "original"),
        ("lexical", "mqe"),
    ]
    best = query["stages"]["rerank"]["chunks"][0]
    assert (best["heading_breadcrumbs"], query["stages"]["rerank"]["ranker"]) == ("Tea > Oxidation", "none")
    assert "[S1] Source: On Tea" in query["stages"]["augment"]["prompt"]
    (answer,) = query["answers"]
    assert ("[S1]" in answer["response_text"], answer["origin"]) == (True, "extractive")
    assert answer["sources"][0]["title"] == "On Tea"
    assert sum(model.calls for model in ollama.models.values()) == calls
    asked.do("audit", f"r{run_id}")

    pasted = ("--corpus", "shelf", "--until", "embed", "--expansion", str(tmp_path / "bad"))
    refused = asked.ragq("submit", "--query", QUESTION, *pasted)
    assert (refused.exit_code, "no JSON" in refused.stderr) == (1, False)


def test_a_model_expands_and_answers_and_the_same_submission_finds_its_run(
    asked: Installation, writer: ScriptedModel
) -> None:
    run_id = ask(asked, model=writer.name)
    assert asked.wait_for(run_id) == {"succeeded": 1}
    assert writer.calls == 2
    query = shown(asked, run_id)
    assert query["answers"][0]["model"] == writer.name

    assert ask(asked, model=writer.name) == run_id

    asked.ragq("query", "run", str(query["id"]), "--from", "retrieve")
    assert asked.wait_for(run_id) == {"succeeded": 1}
    assert len(shown(asked, run_id)["answers"]) == 2
    assert [text for text in (QUESTION, ANSWER, str(EXPANSION["hyde_answer"])) if text in asked.logs] == []


def test_chunks_that_are_all_too_short_fail_the_question_and_the_printed_command_continues_it(
    asked: Installation, writer: ScriptedModel
) -> None:
    by = setting(f"RAGQ_QUERY_MODEL={writer.name}", "reranking.ranker=score-fusion", "expansion.n=1")
    question = ("--query", QUESTION, "--corpus", "shelf", "--preset", "Original", "--until", "generate")
    failed = asked.ragq("submit", *question, *by, "--wait")

    assert failed.exit_code == 3
    assert "Stage 'rerank' dropped all" in failed.stderr
    assert "with fewer than 150 words (retrieval.min_word_count)" in failed.stderr
    (command,) = re.findall(r"`ragq (query run \d+ --set retrieval[^`]*)`", failed.stderr)

    asked.do(*command.split())

    run_id = asked.value("SELECT max(id) FROM run")
    assert asked.wait_for(run_id) == {"succeeded": 1}
    assert ANSWER in asked.ragq("query", "show", str(shown(asked, run_id)["id"])).stdout


def test_a_work_that_changed_since_it_was_ranked_fails_the_chain(asked: Installation) -> None:
    run_id = ask(asked, "--no-expand", until="validate")
    asked.wait_for(run_id)
    query = shown(asked, run_id)
    path = asked.value("SELECT source_path FROM works WHERE title = 'On Tea'")
    Path(path).write_text(TEA.replace("copper", "bronze"))
    try:
        asked.do("import", "works", path, "--corpus", "shelf", "--wait")
    finally:
        Path(path).write_text(TEA)

    asked.do("query", "run", str(query["id"]), "--until", "consolidate")

    assert asked.wait_for(run_id) == {"failed": 1}
    (job,) = asked.ragq("show", f"r{run_id}", "--json").json["jobs"]
    assert (job["error"]["stage"], job["error"]["type"]) == ("consolidate", "schemas.errors.WorkChangedError")
    assert shown(asked, run_id)["stages"]["consolidate"] is None
