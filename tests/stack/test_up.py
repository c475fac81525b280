"""The stack as a whole, on real servers; workers and Flower are started in tests/cli/test_stack.py."""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from schemas.errors import StackError
from stack.connections import connections
from stack.home import Home
from stack.ports import LOOPBACK, free_port
from stack.probes import execute
from stack.processes import kill_tree
from stack.status import PartStatus, status
from stack.up import down, up
from tests import run_folder

pytestmark = pytest.mark.servers


class Stack:
    """One home, with the calls that the commands make."""

    def __init__(self, folder: Path, ollama: str) -> None:
        self.home = Home(folder)
        self.environment = {**os.environ, "RAGQ_HOME": str(folder), "OLLAMA_HOST": ollama}
        self.reported: list[str] = []

    def up(self, migrate: Callable[[str], None] = lambda url: None) -> dict[str, PartStatus]:
        parts = up(
            self.home,
            self.environment,
            workers=False,
            api=False,
            flower=False,
            timeout_s=30.0,
            migrate=migrate,
            ping=lambda redis_url, names: set(names),
            report=self.reported.append,
        )
        return {part.name: part for part in parts}

    def down(self) -> list[str]:
        return down(self.home, self.reported.append)

    def status(self) -> dict[str, tuple[str, bool]]:
        parts = status(self.home, lambda redis_url, names: set(names))
        return {part.name: (part.state, part.healthy) for part in parts}

    @property
    def database_url(self) -> str:
        return connections(self.environment).database_url

    def processes(self) -> list[str]:
        """The processes that still run inside the home."""
        found = psutil.process_iter(["name", "cwd"])
        return [one.info["name"] for one in found if Path(one.info["cwd"] or "/").is_relative_to(self.home.folder)]


def pids(parts: dict[str, PartStatus]) -> set[int]:
    return {part.pid for part in parts.values() if part.pid}


def kill_supervisor(stack: Stack) -> None:
    pid = int(stack.home.supervisor_pid.read_text())
    os.kill(pid, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=10)


@pytest.fixture(scope="module")
def shared(ollama: str) -> Stack:
    """A stack whose data every test may use; it is stopped between the tests."""
    return Stack(run_folder.new_folder() / "home", ollama)


@pytest.fixture
def stack(shared: Stack) -> Iterator[Stack]:
    shared.reported.clear()
    yield shared
    shared.down()
    assert shared.processes() == []


def test_a_stack_keeps_its_data_beside_another_and_leaves_a_taken_port(stack: Stack, ollama: str) -> None:
    parts = stack.up(migrate=lambda url: execute(url, "CREATE TABLE kept ()"))
    found = [(part.name, part.state == "external", part.healthy) for part in parts.values()]
    assert found == [("postgres", False, True), ("valkey", False, True), ("llm", True, True)]
    assert sorted(line.split()[0] for line in stack.reported) == ["postgres", "schema", "valkey"]
    url, port = stack.database_url, parts["valkey"].port

    # A deep path, so that the supervisor's socket must be elsewhere; with a space, as users have them.
    other = Stack(run_folder.new_folder() / "another home" / ("deep" * 20), ollama)
    other.up()
    assert other.database_url != url
    assert sorted(other.down()) == ["postgres", "valkey"]
    assert stack.status()["postgres"][1]
    other.home.supervisor_socket.parent.rmdir()

    assert sorted(stack.down()) == ["postgres", "valkey"]
    with socket.create_server((LOOPBACK, port or 0)):
        again = stack.up()
    assert (again["valkey"].healthy, again["valkey"].port != port) == (True, True)
    assert stack.database_url == url
    execute(url, "DROP TABLE kept")


def test_what_a_killed_stack_left_is_found_and_replaced_and_one_killed_whole_starts_again(stack: Stack) -> None:
    first = stack.up()
    kill_supervisor(stack)
    assert stack.status() == {"postgres": ("orphaned", False), "valkey": ("orphaned", False)}
    second = stack.up()
    assert all(part.healthy for part in second.values())
    assert not pids(first) & pids(second)
    assert sorted(stack.processes()).count("valkey-server") == 1

    kill_supervisor(stack)
    for pid in pids(second):
        kill_tree(pid)
    assert all(part.healthy for part in stack.up().values())


def test_what_cannot_start_is_told_and_nothing_runs_on(stack: Stack) -> None:
    def migrate(url: str) -> None:
        raise StackError("no such revision")

    with pytest.raises(StackError, match="no such revision"):
        stack.up(migrate=migrate)
    assert stack.processes() == []

    outside = Stack(stack.home.folder, f"127.0.0.1:{free_port()}")
    with pytest.raises(StackError, match=r"^OLLAMA_HOST is http://127\.0\.0\.1:\d+, and nothing usable answers there"):
        outside.up()
    assert stack.processes() == []

    config = stack.home.folder / "postgres" / "cluster" / "postgresql.conf"
    sound = config.read_text()
    config.write_text("shared_buffers = nonsense\n")
    with pytest.raises(StackError, match=r'(?s)^postgres ends as soon .*logs/postgres\.log:\n.*"shared_buffers"'):
        stack.up()
    assert (stack.processes(), stack.home.read_state()) == ([], None)
    config.write_text(sound)
