"""Texts of subjects and models are in Postgres alone: in no log, message, error text or monitor.

Every utterance of every participant, every reply and every prompt is looked for, in a run that succeeds and in runs
that fail, by exceptions of ragq and by foreign ones.
"""

import json

from schemas.values.participants import PHQ8Item
from tests.acceptance.broker_contents import commands_received, everything_in, once_sent
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.flower import StartedFlower, start_flower
from tests.acceptance.harness import BROKEN, Installation
from tests.acceptance.small_data_set import TEST, TRAIN, utterances_of
from tests.scripted_ollama import ScriptedModel, ScriptedOllama, ScriptedReply

REPLY = "the lamp of the lighthouse"
SCORES = json.dumps({item.evidence_key: {"score": 1, "evidence": REPLY, "reason": REPLY} for item in PHQ8Item})
PROMPTS = ["You check examples before a rater", "<transcript>", "<Reference Examples>"]
SECRETS = [REPLY, *PROMPTS, *(text for person in (*TRAIN, *TEST) for text in utterances_of(person))]

FEW = ("--bootstrap-resamples", "2")

RECORDED_ERRORS = "SELECT error_type, error_message FROM stage_attempt WHERE error_type IS NOT NULL"

ERRORS = {"builtins.RuntimeError", "schemas.errors.LLMError", "schemas.errors.LLMResponseParseError"}

#: What is visible outside Postgres, by place, and words that show that it was looked at.
SHOWN = {
    "queue": ['"subject": "316"'],
    "commands": ["ragq.validate"],
    "printed": ["The model's reply cannot be used"],
    "page": ["Mean absolute error per item"],
    "logs": ["stage_failed", "builtins.RuntimeError"],
    "monitor": ["ragq.validate", "FAILURE"],
}


def test_texts_of_subjects_and_models_are_in_postgres_alone(
    fresh: Installation, ollama: ScriptedOllama, evidence: GiveEvidence
) -> None:
    """Four runs, queued without a worker, failed and then finished, while commands to the broker are recorded."""
    good = ollama.model(lambda prompt: ScriptedReply(SCORES) if "<transcript>" in prompt else ScriptedReply())
    no_verdict = ollama.model(lambda prompt: ScriptedReply(f"{REPLY} {prompt}"))
    no_score = ollama.model(
        lambda prompt: ScriptedReply(f"{REPLY} {prompt}") if "<transcript>" in prompt else ScriptedReply()
    )
    refusing = ollama.model(lambda prompt: ScriptedReply(f"{REPLY} {prompt}", status=400))
    work = evidence(dict.fromkeys(TEST, 3))
    with commands_received(fresh.redis_url) as commands:
        flower = start_flower(fresh)
        done = [
            fresh.ragq("submit", *work, *asked_of(model), "--json") for model in (good, no_verdict, no_score, refusing)
        ]
        runs = [one.json["run_id"] for one in done]
        # One that sends, and takes nothing of these runs.
        sending = fresh.start_worker(stages=("chunk",), LOG_LEVEL="DEBUG")
        queued = once_sent(fresh.redis_url, "316")
        sending.stop()
        exploding = fresh.start_worker(
            stages=("extract",), include=BROKEN, TEST_BREAKS="transcripts", LOG_LEVEL="DEBUG"
        )
        assert [fresh.wait_for(run_id) for run_id in runs] == [{"failed": 3}] * 4
        exploding.stop()
        for run_id in runs:
            fresh.ragq("retry", f"r{run_id}")
        fresh.start_worker(LOG_LEVEL="DEBUG")
        assert [fresh.wait_for(run_id) for run_id in runs] == [{"succeeded": 3}, *[{"failed": 3}] * 3]
        done += [fresh.ragq(command, f"r{run_id}") for run_id in runs for command in ("show", "watch", "failures")]
        done += [
            fresh.ragq("report", f"r{runs[0]}", "--json", "--html", "report.html", *FEW),
            fresh.ragq("diff", f"r{runs[0]}", f"r{runs[1]}", "--json", *FEW),
        ]
        errors = fresh.rows(RECORDED_ERRORS)
        seen = {
            "queue": queued + everything_in(fresh.redis_url),
            "printed": "".join(one.stdout + one.stderr for one in done),
            "page": (fresh.folder / "report.html").read_text(),
            "logs": fresh.logs,
            "errors": str(errors),
            "monitor": everything_shown(flower),
        }
    seen["commands"] = "\n".join(commands)

    assert {error["error_type"] for error in errors} == ERRORS
    assert [(place, word) for place, words in SHOWN.items() for word in words if word not in seen[place]] == []
    assert [(place, secret) for place, text in seen.items() for secret in SECRETS if secret in text] == []


def asked_of(model: ScriptedModel) -> tuple[str, ...]:
    models = ("--set", f"MODEL_JUDGE_MODEL={model.name}", "--set", f"MODEL_QUANTITATIVE_MODEL={model.name}")
    return ("--few-shot-only", *models, "--until", "score")


def everything_shown(flower: StartedFlower) -> str:
    tasks = flower.get("/api/tasks").json()
    pages = ["/", "/tasks", "/broker", "/api/workers", *(f"/task/{task}" for task in tasks)]
    return "\n".join([str(tasks), *(flower.get(page).text for page in pages)])
