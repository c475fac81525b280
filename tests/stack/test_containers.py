"""Dockerfile and docker-compose.yml, as far as they can be checked without a Docker engine."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

COMPOSE = Path(__file__).parents[2] / "docker-compose.yml"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load(COMPOSE)["services"]
    return found


def test_the_compose_file_keeps_to_the_compose_specification() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_nothing_is_published_off_loopback_and_the_api_listens_where_it_is_asked(services: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published == {"api": ["127.0.0.1:8420:8420"], "flower": ["127.0.0.1:5555:5555"]}
    assert services["api"]["command"] == ["api", "--host", "0.0.0.0", "--port", "8420"]
    assert "http://127.0.0.1:8420/healthz" in services["api"]["healthcheck"]["test"][-1]


def test_every_password_has_to_be_given() -> None:
    used = re.findall(r"\$\{(\w+)([^}]*)\}", COMPOSE.read_text())
    assert {name for name, _ in used} == {"DATABASE_PASSWORD", "BROKER_PASSWORD", "FLOWER_PASSWORD"}
    assert all(rest.startswith(":?") for _, rest in used)


def test_every_long_running_service_has_a_health_check_and_workers_wait_for_the_migrations(
    services: dict[str, Any],
) -> None:
    staying = {name for name, service in services.items() if service.get("restart") == "unless-stopped"}
    assert staying == {"postgres", "valkey", "ollama", "worker-model", "worker-llm", "api", "flower"}
    assert {name for name, service in services.items() if "healthcheck" in service} == staying
    waiting = services["worker-model"]["depends_on"]
    assert {name: wait["condition"] for name, wait in waiting.items()} == {
        "postgres": "service_healthy",
        "migrate": "service_completed_successfully",
        "valkey": "service_healthy",
    }
