import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from click.testing import CliRunner

from cli.main import cli
from schemas.errors import StackError
from stack.home import Home
from stack.ports import free_port
from tests import run_folder
from tests.acceptance.forked import forked_ragq
from tests.acceptance.small_data_set import evidence_of, small_files, write_files

SERVERS = {
    "DATABASE_URL": "postgresql://me:pw@db:5432/ragq",
    "REDIS_URL": "redis://broker:6379/0",
    "OLLAMA_HOST": "gpu",
}


class Executed(Exception):
    """Replaces `execvpe`, and records its arguments."""

    def __init__(self, file: str, command: list[str], environment: dict[str, str]) -> None:
        self.command = command
        self.environment = environment


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home without a running stack, with external servers, and with `execvpe` replaced."""

    def execvpe(file: str, command: list[str], environment: dict[str, str]) -> None:
        raise Executed(file, command, environment)

    monkeypatch.setenv("RAGQ_HOME", str(tmp_path))
    monkeypatch.delenv("OLLAMA_PORT", raising=False)
    for name, value in SERVERS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "execvpe", execvpe)


def executed(*arguments: str) -> Executed:
    caught = CliRunner().invoke(cli, arguments).exception
    assert isinstance(caught, Executed)
    return caught


@pytest.mark.usefixtures("served")
def test_a_worker_becomes_celery_on_the_chosen_stages_and_the_api_gets_its_address_and_no_model() -> None:
    worker = executed("worker", "--stages", "embed, rerank", "--concurrency", "3")
    assert worker.command[1:4] == ["-m", "workers.main", "worker"]
    assert {"--queues=embed,rerank", "--concurrency=3", f"--hostname=worker-{os.getpid()}@%h"} <= {*worker.command}
    passed = {name: worker.environment[name] for name in SERVERS}
    assert passed == SERVERS | {"OLLAMA_HOST": "http://gpu:11434"}
    assert "pw" not in " ".join(worker.command)

    port = str(free_port())
    api = executed("api", "--host", "::1", "--port", port)
    assert api.command[1:] == ["-m", "api.server"]
    servers = {name: SERVERS[name] for name in ("DATABASE_URL", "REDIS_URL")}
    expected = servers | {"RAGQ_API_HOST": "::1", "RAGQ_API_PORT": port}
    assert {name: api.environment.get(name) for name in expected} == expected


def test_the_installed_command_prints_its_version_and_the_last_lines_of_a_part_that_has_a_log(tmp_path: Path) -> None:
    def ragq(*arguments: str) -> subprocess.CompletedProcess[str]:
        program, env = Path(sys.executable).with_name("ragq"), {"RAGQ_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
        return subprocess.run([program, *arguments], env=env, capture_output=True, text=True, check=False)

    assert ragq("--version").stdout == f"ragq, version {version('ragq')}\n"
    assert [ragq("logs", part).returncode for part in ("worker", "llm")] == [2, 1]

    home = Home(tmp_path)
    home.make()
    home.log("llm").write_text("one\ntwo\nthree\n")

    assert ragq("logs", "llm", "--lines", "2").stdout == "two\nthree\n"


@pytest.mark.parametrize("command", [["status"], ["runs"], ["doctor"], ["up", "--no-flower"], ["down"], ["logs"]])
def test_a_home_that_cannot_be_is_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    for name in ("DATABASE_URL", "REDIS_URL", "OLLAMA_HOST", "OLLAMA_PORT"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RAGQ_HOME", str(tmp_path / "file/home"))

    done = CliRunner().invoke(cli, command)

    assert isinstance(done.exception, StackError | SystemExit)
    assert str(tmp_path / "file") in f"{done.output} {done.exception}"


class Installed:
    def __init__(self, home: Path, programs: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if name not in (*SERVERS, "OLLAMA_PORT")}
        self.home = home
        self.environment = kept | {"RAGQ_HOME": str(home), "OMP_NUM_THREADS": "1", "RAGQ_PROFILE": "demo"}
        self._programs = programs

    def ragq(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The installed script starts and ends the stack; other commands are forked, which saves their imports."""
        programs = Path(sys.executable).parent if arguments[0] in ("up", "down") else self._programs
        return subprocess.run(
            [programs / "ragq", *arguments], env=self.environment, capture_output=True, text=True, check=False
        )

    def stages(self, run: str) -> dict[str, str]:
        (job,) = json.loads(self.ragq("show", run, "--json").stdout)["jobs"]
        return {stage["stage"]: stage["status"] for stage in job["stages"]}

    def parts(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.ragq("status", "--json").stdout)["parts"]
        return found


@pytest.fixture(scope="module")
def running() -> Iterator[Installed]:
    """Everything that `ragq up` starts, for the tests below."""
    folder = run_folder.new_folder()
    installed = Installed(folder / "home", forked_ragq())
    # The language model is to be cut off in the middle of a reply.
    installed.environment |= {"RAGQ_STOP_SECONDS": "0.5"}
    installed.environment |= {"RAGQ_API_PORT": str(free_port()), "RAGQ_FLOWER_PORT": str(free_port())}
    up = installed.ragq("up", "--json")
    assert up.returncode == 0, up.stderr
    yield installed
    down = installed.ragq("down")
    assert (down.returncode, installed.ragq("status").returncode) == (0, 1), down.stderr
    shutil.rmtree(folder)


def test_up_makes_every_part_healthy_at_its_port_and_again_replaces_nothing(running: Installed) -> None:
    parts = running.parts()
    healthy = {part["name"]: part["healthy"] for part in parts}
    assert healthy == dict.fromkeys(("postgres", "valkey", "llm", "worker-model", "worker-llm", "api", "flower"), True)
    assert running.ragq("status").returncode == 0
    ports = {part["name"]: str(part["port"]) for part in parts}
    chosen = running.environment
    assert (ports["api"], ports["flower"]) == (chosen["RAGQ_API_PORT"], chosen["RAGQ_FLOWER_PORT"])

    again = running.ragq("up")
    assert again.returncode == 0
    assert f"The stack in {running.home} is already running." in again.stderr
    assert [part["pid"] for part in running.parts()] == [part["pid"] for part in parts]


def test_pages_know_the_monitor_and_no_password_is_on_a_command_line_or_in_a_log(running: Installed) -> None:
    state = json.loads((running.home / "state.json").read_text())
    password = (running.home / "flower.password").read_text()
    with httpx.Client(trust_env=False) as browser:
        page = browser.get(f"{state['api_url']}/ui/login", headers={"Accept": "text/html"})
        monitor = f"{state['flower_url']}/workers"
        codes = [browser.get(monitor, auth=auth).status_code for auth in (None, ("ragq", "guess"), ("ragq", password))]
    assert page.status_code == 200
    assert state["flower_url"] in page.text
    assert codes == [401, 401, 200]

    passwords = [password, *(path.read_text() for path in running.home.rglob("password"))]
    assert len(passwords) == 3
    commands = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    logs = "".join(path.read_text() for path in (running.home / "logs").iterdir())
    assert [password for password in passwords if password in commands + logs] == []


def test_a_run_that_down_cuts_is_finished_after_up(running: Installed, tmp_path: Path) -> None:
    (tmp_path / "evidence.json").write_text(json.dumps(evidence_of({316: 1})))
    data = write_files(tmp_path / "data", small_files())
    assert running.ragq("import", "participants", str(data)).returncode == 0
    given = ("--participants", "316", "--zero-shot-only", "--evidence", str(tmp_path / "evidence.json"))
    # From the submission on, the language model answers nothing before the workers have ended.
    processes = {part["name"]: psutil.Process(part["pid"]) for part in running.parts()}
    llm, worker = processes["llm"], processes["worker-llm"]
    submitted = running.ragq("submit", *given, "--set", "RAGQ_SCORE_TEXT_CHARS=1", "--json")
    assert submitted.returncode == 0, submitted.stderr
    run = json.loads(submitted.stdout)["run"]
    llm.suspend()
    deadline = time.monotonic() + 60
    while running.stages(run)["score"] != "running":
        assert time.monotonic() < deadline, running.ragq("show", run).stdout
        time.sleep(0.2)

    with subprocess.Popen(["sh", "-c", f"while kill -0 {worker.pid}; do sleep 0.1; done; kill -CONT {llm.pid}"]):
        stopped = running.ragq("down")
    assert stopped.returncode == 0, stopped.stderr
    assert running.ragq("up", "--no-api", "--no-flower").returncode == 0

    followed = running.ragq("watch", run)
    assert followed.returncode == 0, running.ragq("failures", run).stdout
    assert set(running.stages(run).values()) == {"done"}
    (cut,) = json.loads(running.ragq("failures", run, "--json").stdout)["failures"]
    assert (cut["stage"], cut["context"]["resolved"]) == ("score", True)
    assert "The worker was stopped before the stage was done" in cut["message"]
