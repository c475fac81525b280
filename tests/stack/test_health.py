from collections.abc import Collection

import pytest

from stack.health import Health
from stack.ports import LOOPBACK, free_port


def health(ollama: str, answering: Collection[str] = ()) -> Health:
    nobody = f"{LOOPBACK}:{free_port()}"
    servers = {"DATABASE_URL": f"postgresql://{nobody}/x", "REDIS_URL": f"redis://{nobody}", "OLLAMA_HOST": ollama}
    return Health(
        servers=servers,
        flower_url=f"http://{nobody}",
        api_url=f"http://{nobody}",
        ping=lambda redis_url, names: set(answering),
    )


def test_each_part_is_asked_where_its_server_is(ollama: str) -> None:
    assert health(ollama).healthy(["postgres", "valkey", "llm", "api", "flower"]) == {"llm"}


def test_workers_are_healthy_when_they_answer_and_were_asked_for(ollama: str) -> None:
    found = health(ollama, answering=["model", "unknown"]).healthy(["worker-model", "worker-llm"])
    assert found == {"worker-model"}


def test_without_workers_the_broker_is_not_asked(ollama: str) -> None:
    def ping(redis_url: str, names: Collection[str]) -> set[str]:
        raise AssertionError("nobody was to be asked")

    assert Health(servers={"OLLAMA_HOST": ollama}, flower_url=None, ping=ping).healthy(["llm"]) == {"llm"}


def test_an_unknown_part_has_no_health(ollama: str) -> None:
    with pytest.raises(ValueError, match="no way to ask toaster"):
        health(ollama).healthy(["toaster"])
