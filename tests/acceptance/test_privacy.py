"""What subjects say and models answer is in Postgres and nowhere else: no log, no message, no error text, no monitor.

Every utterance of every participant, every reply and every prompt is looked for, in a run that succeeds and in runs
that fail, by our own exceptions and by somebody else's.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.acceptance.broker_contents import everything_in, everything_told
from tests.acceptance.conftest import GiveEvidence, Install
from tests.acceptance.flower import StartedFlower, start_flower
from tests.acceptance.harness import judged_by
from tests.acceptance.small_data_set import TEST, TRAIN, said_by
from tests.scripted_ollama import Say, ScriptedOllama

REPLY = "the lamp of the lighthouse"
SECRETS = [
    REPLY,
    "You check examples before a rater",
    *(said for person in (*TRAIN, *TEST) for said in said_by(person)),
]

TOLD_OF_ERRORS = "SELECT error_type, error_message FROM stage_attempt WHERE error_type IS NOT NULL"


@dataclass
class Seen:
    """What an onlooker could see, by place."""

    queued: str = ""
    commands: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    logs: str = ""
    errors: list[dict[str, str]] = field(default_factory=list)
    monitor: str = ""


@pytest.fixture(scope="module")
def seen(install: Install, indexed_template: str, ollama: ScriptedOllama, evidence: GiveEvidence) -> Iterator[Seen]:
    """Three runs, one after the other: queued while no worker takes them, then carried out, while all is watched."""
    judge, mute = ollama.model(), ollama.model(lambda prompt: Say(f"{REPLY} {prompt}"))
    seen = Seen()
    with install(indexed_template) as installation, everything_told(installation.redis_url) as seen.commands:
        flower = start_flower(installation)
        work = evidence(dict.fromkeys(TEST, 3))
        good, bad, foreign = (
            installation.ragq("submit", *work, *options, "--json", RAGQ_PROFILE="demo")
            for options in (judged_by(judge.name), judged_by(mute.name), ("--zero-shot-only",))
        )
        seen.queued = everything_in(installation.redis_url)
        explosive = installation.start_worker(
            app="tests.acceptance.exploding_worker", stages=("extract",), LOG_LEVEL="DEBUG"
        )
        assert installation.wait_for(foreign.json["run_id"]) == {"failed": 3}
        explosive.stop()
        for run in (good, bad):
            installation.ragq("retry", f"r{run.json['run_id']}")
        installation.start_worker(LOG_LEVEL="DEBUG")
        assert installation.wait_for(good.json["run_id"]) == {"succeeded": 3}
        assert installation.wait_for(bad.json["run_id"]) == {"failed": 3}
        for run in (good, bad, foreign):
            for command in ("show", "watch"):
                finished = installation.ragq(command, f"r{run.json['run_id']}")
                seen.printed += [finished.stdout, finished.stderr]
            seen.printed += [run.stdout, run.stderr]
        seen.queued += everything_in(installation.redis_url)
        seen.logs = installation.logs
        seen.errors = installation.rows(TOLD_OF_ERRORS)
        seen.monitor = everything_shown(flower)
    yield seen


def everything_shown(flower: StartedFlower) -> str:
    tasks = flower.get("/api/tasks").json()
    pages = ["/", "/tasks", "/broker", "/api/workers", *(f"/task/{task}" for task in tasks)]
    return "\n".join([str(tasks), *(flower.get(page).text for page in pages)])


def leaks(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


def test_messages_in_the_broker_carry_ids_alone(seen: Seen) -> None:
    assert "'subject': '316'" in seen.queued.replace('"', "'")
    assert leaks(seen.queued) == []


def test_nothing_that_the_broker_is_told_tells_of_a_subject(seen: Seen) -> None:
    told = "\n".join(seen.commands)

    assert "ragq.validate" in told
    assert leaks(told) == []


def test_what_commands_print_about_runs_quotes_nobody(seen: Seen) -> None:
    assert any("LLMResponseParseError" in text or "cannot be used" in text for text in seen.printed)
    assert leaks("\n".join(seen.printed)) == []


def test_logs_quote_nobody(seen: Seen) -> None:
    assert ("stage_failed" in seen.logs, "builtins.RuntimeError" in seen.logs) == (True, True)
    assert leaks(seen.logs) == []


def test_messages_of_errors_quote_nobody(seen: Seen) -> None:
    kinds = {error["error_type"] for error in seen.errors}

    assert kinds == {"builtins.RuntimeError", "schemas.errors.LLMResponseParseError"}
    assert leaks(str(seen.errors)) == []


def test_flower_shows_ids_alone(seen: Seen) -> None:
    assert ("ragq.validate" in seen.monitor, "FAILURE" in seen.monitor) == (True, True)
    assert leaks(seen.monitor) == []
