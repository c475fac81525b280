"""Unusable verdicts fail the chain at `validate`, and no call is paid for twice."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Finished, Installation, judged_by
from tests.scripted_ollama import ACCEPT, ScriptedOllama, ScriptedReply

STAGES = ("extract", "embed", "retrieve", "rerank", "validate", "assemble")
OUTPUTS = """
SELECT a.stage, a.number, a.outcome, a.output_hash
FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1 ORDER BY a.id
"""
WORDS = "the lamp of the lighthouse"
REPLY = f"{ACCEPT} because of {WORDS}"


@dataclass(frozen=True)
class Story:
    """A run whose third verdict and its re-asks were unusable, and the same run after a retry with usable verdicts."""

    failed: Finished
    outputs_then: list[dict[str, Any]]
    retried: Finished
    shown: Finished
    outputs_now: list[dict[str, Any]]
    attempts: list[dict[str, Any]]
    logs: str

    @property
    def job_then(self) -> dict[str, Any]:
        """The only job as it was after the failure."""
        (job,) = self.failed.json["jobs"]
        assert isinstance(job, dict)
        return job


@pytest.fixture(scope="module")
def story(shared: Installation, ollama: ScriptedOllama, evidence: GiveEvidence) -> Story:
    judge = ollama.model()
    judge.answer = lambda prompt: ScriptedReply(REPLY if judge.calls in (3, 4, 5) else ACCEPT)
    failed = shared.ragq("submit", *evidence({316: 2}), *judged_by(judge.name), "--wait", "--json")
    run_id = failed.json["overview"]["id"]
    outputs_then = shared.rows(OUTPUTS, run_id)
    retried = shared.ragq("retry", f"r{run_id}", "--json")
    assert shared.wait_for(run_id) == {"succeeded": 1}
    return Story(
        failed=failed,
        outputs_then=outputs_then,
        retried=retried,
        shown=shared.ragq("show", f"r{run_id}"),
        outputs_now=shared.rows(OUTPUTS, run_id),
        attempts=shared.inspect(run_id, "validate"),
        logs=shared.logs,
    )


def test_the_chain_fails_at_validate_with_the_parse_error(story: Story) -> None:
    error = story.job_then["error"]

    assert (story.failed.exit_code, story.job_then["status"], error["stage"]) == (3, "failed", "validate")
    assert (error["type"], error["category"]) == ("schemas.errors.LLMResponseParseError", "validation_json_parse")
    assert error["message"].startswith("The model's reply cannot be used: ")


def test_later_stages_do_not_run_and_earlier_outputs_are_kept(story: Story) -> None:
    statuses = {stage["stage"]: stage["status"] for stage in story.job_then["stages"]}

    assert statuses == dict(zip(STAGES, ["done"] * 4 + ["failed", "waiting"], strict=True))
    assert [(row["stage"], row["outcome"]) for row in story.outputs_then] == [
        *((stage, "succeeded") for stage in STAGES[:4]),
        ("validate", "failed"),
    ]


def test_a_retry_runs_validate_and_what_follows_and_nothing_before_it(story: Story) -> None:
    (job_id,) = story.retried.json["jobs"]

    assert story.retried.json == {"target": story.retried.json["target"], "action": "retried", "jobs": [job_id]}
    assert story.outputs_now[: len(story.outputs_then)] == story.outputs_then
    assert [(row["stage"], row["number"], row["outcome"]) for row in story.outputs_now[5:]] == [
        ("validate", 2, "succeeded"),
        ("assemble", 1, "succeeded"),
    ]


def test_inspect_shows_which_calls_were_reused_and_which_reply_was_rejected(story: Story) -> None:
    first, second = story.attempts

    assert [(call["is_reused"], not call["is_rejected"]) for call in first["calls"]] == [
        (False, True),
        (False, True),
        (False, False),
        (False, False),
        (False, False),
    ]
    assert [call["is_reused"] for call in second["calls"]] == [True] * 5 + [False] * 2
    assert [call["purpose"].partition(", ")[2] for call in second["calls"]][2:6] == [
        "rejected before",
        "re-ask 1, rejected before",
        "re-ask 2, rejected before",
        "re-ask 3",
    ]


def test_the_old_error_is_kept_with_its_reply(story: Story) -> None:
    first, second = story.attempts

    assert (first["outcome"], second["outcome"]) == ("failed", "succeeded")
    assert (first["error"]["type"], first["error"]["details"]["raw_response"]) == (
        "schemas.errors.LLMResponseParseError",
        REPLY,
    )
    assert first["calls"][-1]["reply"] == REPLY


def test_the_reply_is_stored_only_in_postgres(story: Story) -> None:
    printed = [story.failed.stdout, story.failed.stderr, story.retried.stdout, story.shown.stdout, story.logs]

    assert [WORDS in text for text in printed] == [False] * 5
