"""Reports of runs that real workers scored."""

import json
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from schemas.values.participants import PHQ8Item
from tests.acceptance.conftest import GiveEvidence, Install
from tests.acceptance.harness import Installation, setting
from tests.acceptance.small_data_set import utterances_of
from tests.eventually import eventually
from tests.scripted_ollama import ACCEPT, ScriptedModel, ScriptedReply

FALLEN = 330
"""The participant whom the model does not want to score."""

FEW = ("--bootstrap-resamples", "50", "--json")


def draw_scores(prompt: str) -> ScriptedReply:
    """Scores that differ from prompt to prompt and are the same for the same prompt."""
    if "<transcript>" not in prompt:
        return ScriptedReply(ACCEPT)
    draws = {item: zlib.crc32(f"{item} {prompt}".encode()) for item in PHQ8Item}
    answer = {
        item.evidence_key: {"score": (0, 1, 2, 3, "N/A")[drawn % 5], "confidence": 1 + drawn % 3}
        for item, drawn in draws.items()
    }
    return ScriptedReply(json.dumps(answer))


def score_by_prompt(prompt: str) -> ScriptedReply:
    """The same, and no scores for one participant."""
    has_fallen = "<transcript>" in prompt and utterances_of(FALLEN)[0] in prompt.partition("</transcript>")[0]
    return ScriptedReply("I would rather not.") if has_fallen else draw_scores(prompt)


def submit(installation: Installation, model: ScriptedModel, evidence: GiveEvidence) -> int:
    names = ("MODEL_JUDGE_MODEL", "MODEL_QUANTITATIVE_MODEL")
    models = setting(*(f"{name}={model.name}" for name in names))
    chosen = evidence({316: 2, 319: 3, FALLEN: 1})
    return installation.submit(*chosen, *models, "--set", "PYDANTIC_AI_RETRIES=0", "--until", "score")


def report(installation: Installation, run_id: int) -> dict[str, Any]:
    done = installation.do("report", f"r{run_id}", *FEW)
    found: dict[str, Any] = json.loads(done.stdout, parse_constant=pytest.fail)
    return found


def test_a_killed_and_resumed_run_has_the_same_report_as_an_undisturbed_one(
    install: Install, indexed_template: str, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    judge.answer = score_by_prompt
    with install(indexed_template) as undisturbed:
        undisturbed.start_worker()
        run_id = submit(undisturbed, judge, evidence)
        assert undisturbed.wait_for(run_id) == {"succeeded": 4, "failed": 2}
        expected = report(undisturbed, run_id)

    with install(indexed_template) as killed:
        # A killed worker's stage is released after one second. On a busy machine a live worker's heartbeat can be as
        # late, and both kills can meet the same stage: neither is a reason to give it up.
        killed.settings |= {"RAGQ_LEASE_SECONDS": "1", "RAGQ_MAX_INTERRUPTIONS": "100"}
        alone = killed.start_worker(RAGQ_CRASH_AT="after_compute@score#1")
        run_id = submit(killed, judge, evidence)
        eventually(lambda: not alone.is_alive)
        killed.start_worker(RAGQ_CRASH_AT="before_commit@validate#1")
        killed.start_worker()
        assert killed.wait_for(run_id) == {"succeeded": 4, "failed": 2}
        found = report(killed, run_id)
        interrupted = killed.value("SELECT count(*) FROM stage_attempt WHERE outcome = 'interrupted'")

    assert interrupted > 0
    assert found.pop("timings") != expected.pop("timings")
    # Which texts share a pass of the embedder depends on time, and their vectors on that, within its number format.
    assert dict(leaves(found)) == pytest.approx(dict(leaves(expected)), abs=1e-3)


def leaves(value: Any, *path: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """What is in a JSON document, by its place."""
    if not isinstance(value, dict | list):
        yield path, value
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(inner, *path, key)
