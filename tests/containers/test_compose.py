"""docker-compose.yml as it is, on podman: `make compose-test`. Only the images of the servers are stand-ins.

podman-compose does not wait for health checks with an older podman, and without systemd nobody runs them. So the
servers are started before the rest, and a test runs the health checks itself.
"""

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.containers import engine

pytestmark = [
    pytest.mark.docker,
    pytest.mark.long,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(engine.why_unusable() is not None, reason=str(engine.why_unusable())),
]

FOLDER = Path(os.environ.get("CONTAINERS_FOLDER", "/var/tmp/ragq-images"))
SERVERS = ("postgres", "valkey", "ollama")
OURS = ("worker-model", "worker-llm", "api", "flower")
DEMO = ("-e", "RAGQ_PROFILE=demo", "-e", "EMBEDDING_BACKEND=ollama")
PASSWORDS = {name: secrets.token_hex(24) for name in ("DATABASE_PASSWORD", "BROKER_PASSWORD", "FLOWER_PASSWORD")}
#: Interviews, their index, a score by the language model and a run of many jobs without it. The folder of interviews
#: ends with the container.
SUBMIT = """
ragq demo-data /tmp/interviews && ragq import participants /tmp/interviews &&
ragq index references --split paper-train --wait &&
ragq submit --split paper-test --limit 1 --zero-shot-only &&
ragq submit --split paper-test --limit 20 --few-shot-only --until assemble --json \
  --set EMBEDDING_ENABLE_REFERENCE_VALIDATION=false > /tmp/run && cat /tmp/run
"""


class Stack:
    def __init__(self, podman: engine.Engine, folder: Path) -> None:
        self.podman = podman.podman
        passwords = folder / "env"
        passwords.write_text("".join(f"{name}={value}\n" for name, value in PASSWORDS.items()))
        self._compose = [
            *(sys.executable, "-m", "podman_compose", "--env-file", str(passwords), "--project-name", "ragqtest"),
            # Docker's compose adds the profile of a service that is named; podman-compose does not.
            *("--profile", "tools", "--file", str(engine.REPOSITORY / "docker-compose.yml")),
        ]
        self._environment = podman.environment

    def compose(self, *arguments: str) -> str:
        """Run podman-compose; what it printed."""
        command = [*self._compose, *arguments]
        done = subprocess.run(command, env=self._environment, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ragq(self, *arguments: str) -> str:
        """The command line in a container of its own, as the first lines of the file show it."""
        return self.compose("run", "--rm", "-T", "--no-deps", *DEMO, "ragq", *arguments)

    def name(self, service: str) -> str:
        return f"ragqtest_{service}_1"

    def inside(self, service: str, command: str) -> subprocess.CompletedProcess[str]:
        return self.podman("exec", self.name(service), "sh", "-c", command, check=False)

    def is_healthy(self, service: str) -> bool:
        """The health check of the file passes now. An older podman does not end one that takes too long."""
        command = ("timeout", "40", "podman", "healthcheck", "run", self.name(service))
        return subprocess.run(command, env=self._environment, capture_output=True, check=False).returncode == 0

    def state(self, service: str, field: str) -> int:
        """A field of a container's state, such as the process id of its first process, seen from outside."""
        return int(self.podman("inspect", f"--format={{{{.State.{field}}}}}", self.name(service)).stdout)

    def process(self, service: str) -> int:
        return self.state(service, "Pid")

    def is_another(self, service: str, before: int) -> bool:
        """A container's first process is not the one that it was before."""
        return self.process(service) not in (0, before)

    def wait_until(self, is_so: Callable[[], bool], *, timeout_s: float, what: str) -> None:
        """Ask every second."""
        deadline = time.monotonic() + timeout_s
        while not is_so():
            assert time.monotonic() < deadline, f"{what}\n{self.podman('ps', '--all').stdout}"
            time.sleep(1)

    def wait_for_health(self, *services: str) -> None:
        """Every health check has passed."""
        for service in services:
            self.wait_until(partial(self.is_healthy, service), timeout_s=120, what=f"{service} is unhealthy")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Every service of the file, healthy. Containers and volumes are removed at the end, images are kept."""
    podman = engine.Engine(FOLDER)
    # CONTAINERS_REUSE=1 tests the images of the run before.
    if not os.environ.get("CONTAINERS_REUSE"):
        podman.build()
    print(f"image of ragq: {podman.megabytes('localhost/ragq')} MB")
    started = Stack(podman, tmp_path_factory.mktemp("compose"))
    try:
        started.compose("up", "--detach", "--no-build", *SERVERS)
        started.wait_for_health(*SERVERS)
        started.compose("run", "--rm", "-T", "--no-deps", "migrate")
        # podman 4 starts no container whose dependency has ended, as `migrate` has.
        started.compose("up", "--detach", "--no-build", "--no-deps", *OURS)
        yield started
    finally:
        started.compose("down", "--volumes", "--timeout", "5")


@pytest.fixture(scope="module")
def token(stack: Stack) -> str:
    """A token of the API, which starts once there is one."""
    token = stack.ragq("token", "create", "me").strip().splitlines()[-1]
    stack.wait_for_health(*OURS)
    return token


@pytest.fixture
def pages(token: str) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {token}"}
    # A first report draws its plots with fonts that have to be found.
    with httpx.Client(base_url="http://127.0.0.1:8420", headers=headers, timeout=120) as client:
        yield client


def test_a_run_survives_the_death_of_a_container(stack: Stack, pages: httpx.Client) -> None:
    printed = stack.compose("run", "--rm", "-T", "--no-deps", *DEMO, "--entrypoint", "sh", "ragq", "-c", SUBMIT)
    run = json.loads(printed[printed.index("{") :])["run_id"]

    def states(run_id: int) -> dict[str, int]:
        reply = pages.get(f"/runs/{run_id}").json()
        return {state: jobs for state, jobs in reply["run"]["states"].items() if jobs}

    def is_done(run_id: int, jobs: int) -> bool:
        return states(run_id) == {"succeeded": jobs}

    assert states(run).keys() - {"succeeded"}, "the run is over before a container was killed"
    for service in ("worker-llm", "worker-model"):
        before = stack.process(service)
        os.kill(before, signal.SIGKILL)
        stack.wait_until(partial(stack.is_another, service, before), timeout_s=30, what=f"{service} is not restarted")
    for run_id, jobs in {run: 20, run - 1: 1}.items():
        stack.wait_until(partial(is_done, run_id, jobs), timeout_s=900, what=f"r{run_id} does not end")
        stack.ragq("audit", f"r{run_id}")
    pages_of_runs = [f"/ui/runs/{shown}" for shown in (run, run - 1, f"{run - 1}/report.html")]
    for path in ("/rag", "/ui/participants", *pages_of_runs):
        page = pages.get(path, headers={"Accept": "text/html"}, follow_redirects=True)
        assert page.status_code == 200, path
        assert "</html>" in page.text
    assert httpx.get("http://127.0.0.1:8420/runs").status_code == 401


def test_flower_shows_the_tasks_of_both_workers(stack: Stack, token: str) -> None:
    assert httpx.get("http://127.0.0.1:5555/api/tasks").status_code == 401
    with httpx.Client(base_url="http://127.0.0.1:5555", auth=("ragq", PASSWORDS["FLOWER_PASSWORD"])) as flower:
        tasks = flower.get("/api/tasks").json()
        workers = flower.get("/api/workers", params={"refresh": "true"}).json()
    assert {task["name"] for task in tasks.values()} >= {"ragq.embed", "ragq.score"}
    assert len(workers) >= 2


@pytest.mark.parametrize("service", [*OURS, "valkey"])
def test_containers_have_no_privileges_and_write_nothing(stack: Stack, token: str, service: str) -> None:
    assert stack.inside(service, "id -u").stdout.strip() != "0"
    assert stack.inside(service, "touch /written").returncode != 0
    status = Path(f"/proc/{stack.process(service)}/status").read_text()
    assert re.search(r"^CapEff:\t0+$", status, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\t1$", status, re.MULTILINE)


@pytest.mark.parametrize("service", [*OURS, *SERVERS])
def test_no_password_is_in_a_list_of_processes(stack: Stack, token: str, service: str) -> None:
    command = Path(f"/proc/{stack.process(service)}/cmdline").read_text()
    assert not any(password in command for password in PASSWORDS.values())


@pytest.mark.parametrize("service", ["api", "flower", *SERVERS])
def test_a_health_check_fails_while_its_process_hangs(stack: Stack, token: str, service: str) -> None:
    stack.wait_for_health(service)
    process = stack.process(service)
    os.kill(process, signal.SIGSTOP)
    try:
        assert not stack.is_healthy(service)
    finally:
        os.kill(process, signal.SIGCONT)
    stack.wait_for_health(service)


def test_a_stopped_worker_ends_within_its_grace_period(stack: Stack, token: str) -> None:
    began = time.monotonic()
    stack.podman("stop", "--time=60", stack.name("worker-model"))
    assert time.monotonic() - began < 30
    assert stack.state("worker-model", "ExitCode") == 0
