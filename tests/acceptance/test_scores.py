"""Stage `score`: eight items by a model."""

import json
from collections.abc import Callable

from schemas.values.participants import PHQ8Item
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation
from tests.scripted_ollama import ACCEPT, ScriptedModel, ScriptedReply

SCORES = json.dumps({item.evidence_key: {"score": 1, "confidence": 4} for item in PHQ8Item})
UNTIL_SCORE = ("--until", "score")


def scored_by(model: str) -> tuple[str, ...]:
    """The options of a submission whose references and items one model judges."""
    return ("--set", f"MODEL_JUDGE_MODEL={model}", "--set", f"MODEL_QUANTITATIVE_MODEL={model}", *UNTIL_SCORE)


def judge_and(score: Callable[[], ScriptedReply]) -> Callable[[str], ScriptedReply]:
    """Accepts every reference and answers scoring prompts by `score`."""
    return lambda prompt: score() if "<transcript>" in prompt else ScriptedReply(ACCEPT)


def test_both_modes_are_scored_to_the_end(shared: Installation, judge: ScriptedModel, evidence: GiveEvidence) -> None:
    judge.answer = judge_and(lambda: ScriptedReply(f"<answer>{SCORES}</answer>"))

    run_id = shared.submit(*evidence({316: 1}), *scored_by(judge.name))

    assert shared.wait_for(run_id) == {"succeeded": 2}
    (attempt,) = shared.inspect(run_id, "score", ordinal=1)
    assert {key: item["score"] for key, item in attempt["output"]["items"].items()} == dict.fromkeys(PHQ8Item, 1)
    assert attempt["output"]["totals"] == {
        "minimum": 8,
        "maximum": 8,
        "minimum_severity": "mild",
        "maximum_severity": "mild",
        "severity": "mild",
    }
