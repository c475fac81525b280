import pytest

from stack.ports import LOOPBACK, free_port
from stack.probes import http_answers, postgres_answers, redis_answers


def test_a_200_is_healthy_and_a_500_is_not(ollama: str) -> None:
    assert http_answers(f"{ollama}/api/version")
    assert not http_answers(f"{ollama}/other")


def test_proxies_of_the_environment_are_not_asked(ollama: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert http_answers(f"{ollama}/api/version")


def test_a_closed_port_is_not_healthy() -> None:
    port = free_port()
    assert not http_answers(f"http://{LOOPBACK}:{port}/version")
    assert not redis_answers(f"redis://{LOOPBACK}:{port}/0")
    assert not postgres_answers(f"postgresql://ragq:x@{LOOPBACK}:{port}/ragq")


def test_a_server_of_another_protocol_is_not_healthy(ollama: str) -> None:
    address = ollama.removeprefix("http://")
    assert not redis_answers(f"redis://{address}/0")
    assert not postgres_answers(f"postgresql://ragq:x@{address}/ragq")
