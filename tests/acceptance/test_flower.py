"""Flower shows stages by name, and finds those of a run or a participant."""

import re
from typing import Any

import pytest

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.flower import StartedFlower, start_flower
from tests.acceptance.harness import Installation, judged_by
from tests.eventually import eventually
from tests.scripted_ollama import ScriptedOllama, ScriptedReply

CHAIN = sorted(["ragq.extract", "ragq.embed", "ragq.retrieve", "ragq.rerank", "ragq.validate", "ragq.assemble"])


def found(flower: StartedFlower, search: str) -> list[dict[str, Any]]:
    """The tasks that a search finds."""
    return list(flower.get("/api/tasks", search=search, limit="100").json().values())


def names(flower: StartedFlower, search: str) -> list[str]:
    return sorted(task["name"] for task in found(flower, search))


def validated(flower: StartedFlower, run: int, state: str) -> dict[str, Any]:
    """The task of stage `validate` of a run of one job, as soon as it is in a state."""
    search = f"kwargs:run={run} name:ragq.validate state:{state}"
    eventually(lambda: bool(found(flower, search)))
    return found(flower, search)[0]


def test_flower_shows_stages_to_who_knows_the_password_and_no_text(
    shared: Installation, ollama: ScriptedOllama, evidence: GiveEvidence
) -> None:
    flower = start_flower(shared)
    first = shared.submit(*evidence({316: 1, 319: 1}), *judged_by(ollama.model().name))
    second = shared.submit(*evidence({319: 1}), *judged_by(ollama.model().name))
    eventually(lambda: len(found(flower, "state:SUCCESS")) == 18)

    assert names(flower, f"kwargs:run={second}") == CHAIN
    assert len(found(flower, "name:ragq.validate")) == 3
    assert len(found(flower, "kwargs:subject=319")) == 12
    assert names(flower, f"kwargs:subject=319 kwargs:run={first}") == CHAIN

    slow = ollama.model(lambda prompt: ScriptedReply(delay_s=1.5))
    run = shared.submit(*evidence({316: 1}), *judged_by(slow.name))
    started = validated(flower, run, "STARTED")
    validated(flower, run, "SUCCESS")
    shown = {task["name"]: task["runtime"] for task in found(flower, f"kwargs:run={run} state:SUCCESS")}
    own = {f"ragq.{stage}": shared.inspect(run, stage)[0]["seconds"] for stage in ("extract", "embed", "validate")}
    assert started["runtime"] is None
    assert {name: shown[name] for name in own} == pytest.approx(own, rel=0.1, abs=0.1)
    metrics = flower.get("/metrics").text
    (seconds,) = re.findall(r'flower_task_runtime_seconds_sum{task="ragq.validate",[^}]*} (\S+)', metrics)
    assert float(seconds) > own["ragq.validate"] > 1.5
    assert 'le="600.0"' in metrics

    judge = ollama.model(lambda prompt: ScriptedReply("no JSON, but PRIVATE"))
    failed = validated(flower, shared.submit(*evidence({316: 1}), *judged_by(judge.name)), "FAILURE")
    assert failed["exception"].startswith("LLMResponseParseError(")
    assert "PRIVATE" not in str(failed)

    intruder = StartedFlower(flower.process, flower.port, password="guessed")
    assert [intruder.get(path).status_code for path in ("/tasks", "/api/tasks")] == [401, 401]
    flower.process.kill()
