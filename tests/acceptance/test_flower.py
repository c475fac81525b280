"""Flower shows stages by name, and finds those of a run or a participant."""

import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.flower import StartedFlower, start_flower
from tests.acceptance.harness import Installation, judged_by
from tests.scripted_ollama import ScriptedOllama, ScriptedReply

CHAIN = ["ragq.extract", "ragq.embed", "ragq.retrieve", "ragq.rerank", "ragq.validate", "ragq.assemble"]


class Watched(NamedTuple):
    """Two runs, of participants 316 and 319, and of 319 alone, as Flower saw them."""

    flower: StartedFlower
    first: int
    second: int


@pytest.fixture(scope="module")
def watched(shared: Installation, ollama: ScriptedOllama, evidence: GiveEvidence) -> Iterator[Watched]:
    flower = start_flower(shared)
    first = shared.submit(*evidence({316: 1, 319: 1}), *judged_by(ollama.model().name))
    second = shared.submit(*evidence({319: 1}), *judged_by(ollama.model().name))
    for run_id in (first, second):
        assert shared.wait_for(run_id)["succeeded"]
    deadline = time.monotonic() + 30
    while len(found(flower, "state:SUCCESS")) < 18:
        assert time.monotonic() < deadline, found(flower, "")
        time.sleep(0.05)
    yield Watched(flower, first, second)
    flower.process.kill()


def found(flower: StartedFlower, search: str) -> list[tuple[str, str]]:
    """Name and keyword arguments of the tasks that a search finds."""
    tasks = flower.get("/api/tasks", search=search, limit="100").json().values()
    return [(task["name"], task["kwargs"]) for task in tasks]


def test_tasks_are_listed_by_the_names_of_their_stages(watched: Watched) -> None:
    names = [name for name, _ in found(watched.flower, f"kwargs:run={watched.second}")]

    assert sorted(names) == sorted(CHAIN)
    assert len(found(watched.flower, "name:ragq.validate")) == 3


def test_a_search_finds_the_tasks_of_a_participant_in_a_run(watched: Watched) -> None:
    assert len(found(watched.flower, "kwargs:subject=319")) == 12
    assert sorted(name for name, _ in found(watched.flower, f"kwargs:subject=319 kwargs:run={watched.first}")) == (
        sorted(CHAIN)
    )


def test_a_task_is_started_while_its_stage_runs_and_takes_its_time(
    watched: Watched, shared: Installation, ollama: ScriptedOllama, evidence: GiveEvidence
) -> None:
    slow = ollama.model(lambda prompt: ScriptedReply(delay_s=1.5))
    run = shared.submit(*evidence({316: 1}), *judged_by(slow.name))
    started = validated(watched.flower, run, "STARTED")
    validated(watched.flower, run, "SUCCESS")
    tasks = watched.flower.get("/api/tasks", search=f"kwargs:run={run} state:SUCCESS").json().values()
    shown = {task["name"]: task["runtime"] for task in tasks}
    own = {f"ragq.{stage}": shared.inspect(run, stage)[0]["seconds"] for stage in ("extract", "embed", "validate")}

    assert started["runtime"] is None
    assert {name: shown[name] for name in own} == pytest.approx(own, rel=0.1, abs=0.1)
    assert runtimes(watched.flower)["ragq.validate"] > own["ragq.validate"] > 1.5
    assert 'le="600.0"' in watched.flower.get("/metrics").text


def test_an_error_has_its_own_name_and_not_the_reply_of_a_model(
    watched: Watched, shared: Installation, ollama: ScriptedOllama, evidence: GiveEvidence
) -> None:
    judge = ollama.model(lambda prompt: ScriptedReply("no JSON, but PRIVATE"))
    run = shared.submit(*evidence({316: 1}), *judged_by(judge.name))
    failed = validated(watched.flower, run, "FAILURE")

    assert failed["exception"].startswith("LLMResponseParseError(")
    assert "PRIVATE" not in str(failed)


def validated(flower: StartedFlower, run: int, state: str) -> dict[str, Any]:
    """The task of stage `validate` of a run of one job, as soon as it is in a state."""
    deadline = time.monotonic() + 60
    while True:
        tasks = flower.get("/api/tasks", search=f"kwargs:run={run} name:ragq.validate state:{state}").json()
        for task in tasks.values():
            found: dict[str, Any] = task
            return found
        assert time.monotonic() < deadline, tasks
        time.sleep(0.05)


def runtimes(flower: StartedFlower) -> dict[str, float]:
    """The seconds of all tasks of a name, of Flower's metrics for Prometheus."""
    found = re.findall(r'flower_task_runtime_seconds_sum{task="([^"]+)",[^}]*} (\S+)', flower.get("/metrics").text)
    return {name: float(seconds) for name, seconds in found}


def test_flower_asks_for_a_password(watched: Watched) -> None:
    intruder = StartedFlower(watched.flower.process, watched.flower.port, password="guessed")

    assert [intruder.get(path).status_code for path in ("/tasks", "/api/tasks")] == [401, 401]
