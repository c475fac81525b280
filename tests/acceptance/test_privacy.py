"""Texts of subjects and models are in Postgres alone: in no log, message, error text or monitor.

Every utterance of every participant, every reply and every prompt is looked for, in a run that succeeds and in runs
that fail, by exceptions of ragq and by foreign ones.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from schemas.values.participants import PHQ8Item
from tests.acceptance.broker_contents import commands_received, everything_in, once_sent
from tests.acceptance.conftest import GiveEvidence, Install
from tests.acceptance.flower import StartedFlower, start_flower
from tests.acceptance.small_data_set import TEST, TRAIN, utterances_of
from tests.scripted_ollama import ScriptedModel, ScriptedOllama, ScriptedReply

REPLY = "the lamp of the lighthouse"
SCORES = json.dumps({item.evidence_key: {"score": 1, "evidence": REPLY, "reason": REPLY} for item in PHQ8Item})
PROMPTS = ["You check examples before a rater", "<transcript>", "<Reference Examples>"]
SECRETS = [REPLY, *PROMPTS, *(text for person in (*TRAIN, *TEST) for text in utterances_of(person))]

FEW = ("--bootstrap-resamples", "2")

RECORDED_ERRORS = "SELECT error_type, error_message FROM stage_attempt WHERE error_type IS NOT NULL"


@dataclass
class Seen:
    """What is visible outside Postgres, by place."""

    queued: str = ""
    commands: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    page: str = ""
    logs: str = ""
    errors: list[dict[str, str]] = field(default_factory=list)
    monitor: str = ""


@pytest.fixture(scope="module")
def seen(install: Install, indexed_template: str, ollama: ScriptedOllama, evidence: GiveEvidence) -> Iterator[Seen]:
    """Four runs, queued without a worker, failed and then finished, while commands to the broker are recorded."""
    good = ollama.model(lambda prompt: ScriptedReply(SCORES) if "<transcript>" in prompt else ScriptedReply())
    no_verdict = ollama.model(lambda prompt: ScriptedReply(f"{REPLY} {prompt}"))
    no_score = ollama.model(
        lambda prompt: ScriptedReply(f"{REPLY} {prompt}") if "<transcript>" in prompt else ScriptedReply()
    )
    refusing = ollama.model(lambda prompt: ScriptedReply(f"{REPLY} {prompt}", status=400))
    work = evidence(dict.fromkeys(TEST, 3))
    seen = Seen()
    with install(indexed_template) as installation, commands_received(installation.redis_url) as seen.commands:
        flower = start_flower(installation)
        submitted = [
            installation.ragq("submit", *work, *asked_of(model), "--json")
            for model in (good, no_verdict, no_score, refusing)
        ]
        runs = [done.json["run_id"] for done in submitted]
        # One that sends, and takes nothing of these runs.
        sending = installation.start_worker(stages=("chunk",), LOG_LEVEL="DEBUG")
        seen.queued = once_sent(installation.redis_url, "316")
        sending.stop()
        exploding = installation.start_worker(
            stages=("extract",), include="tests.acceptance.exploding_extract", LOG_LEVEL="DEBUG"
        )
        assert [installation.wait_for(run_id) for run_id in runs] == [{"failed": 3}] * 4
        exploding.stop()
        for run_id in runs:
            installation.ragq("retry", f"r{run_id}")
        installation.start_worker(LOG_LEVEL="DEBUG")
        assert [installation.wait_for(run_id) for run_id in runs] == [{"succeeded": 3}, *[{"failed": 3}] * 3]
        shown = [
            installation.ragq(command, f"r{run_id}") for run_id in runs for command in ("show", "watch", "failures")
        ]
        shown += [
            installation.ragq("report", f"r{runs[0]}", "--json", "--html", "report.html", *FEW),
            installation.ragq("diff", f"r{runs[0]}", f"r{runs[1]}", "--json", *FEW),
        ]
        seen.printed = [text for done in (*submitted, *shown) for text in (done.stdout, done.stderr)]
        seen.page = (installation.folder / "report.html").read_text()
        seen.queued += everything_in(installation.redis_url)
        seen.logs = installation.logs
        seen.errors = installation.rows(RECORDED_ERRORS)
        seen.monitor = everything_shown(flower)
    yield seen


def asked_of(model: ScriptedModel) -> tuple[str, ...]:
    models = ("--set", f"MODEL_JUDGE_MODEL={model.name}", "--set", f"MODEL_QUANTITATIVE_MODEL={model.name}")
    return ("--few-shot-only", *models, "--until", "score")


def everything_shown(flower: StartedFlower) -> str:
    tasks = flower.get("/api/tasks").json()
    pages = ["/", "/tasks", "/broker", "/api/workers", *(f"/task/{task}" for task in tasks)]
    return "\n".join([str(tasks), *(flower.get(page).text for page in pages)])


def leaks(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


def test_messages_in_the_broker_carry_ids_alone(seen: Seen) -> None:
    assert "'subject': '316'" in seen.queued.replace('"', "'")
    assert leaks(seen.queued) == []


def test_no_command_to_the_broker_contains_subject_data(seen: Seen) -> None:
    commands = "\n".join(seen.commands)

    assert "ragq.validate" in commands
    assert leaks(commands) == []


def test_commands_about_runs_quote_nobody(seen: Seen) -> None:
    assert "The model's reply cannot be used" in "".join(seen.printed)
    assert leaks("\n".join(seen.printed)) == []


def test_the_page_of_a_report_quotes_nobody(seen: Seen) -> None:
    assert "Participants, few_shot" in seen.page
    assert leaks(seen.page) == []


def test_logs_quote_nobody(seen: Seen) -> None:
    assert ("stage_failed" in seen.logs, "builtins.RuntimeError" in seen.logs) == (True, True)
    assert leaks(seen.logs) == []


def test_messages_of_errors_quote_nobody(seen: Seen) -> None:
    kinds = {error["error_type"] for error in seen.errors}

    assert kinds == {
        "builtins.RuntimeError",
        "schemas.errors.LLMError",
        "schemas.errors.LLMResponseParseError",
        "schemas.errors.ScoringRetriesExhausted",
    }
    assert leaks(str(seen.errors)) == []


def test_flower_shows_ids_alone(seen: Seen) -> None:
    assert ("ragq.validate" in seen.monitor, "FAILURE" in seen.monitor) == (True, True)
    assert leaks(seen.monitor) == []
