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

pytestmark = pytest.mark.servers


class Stack:
    """One home, with the calls that the commands make."""

    def __init__(self, folder: Path, ollama: str) -> None:
        self.home = Home(folder)
        self.environment = {**os.environ, "RAGQ_HOME": str(folder), "OLLAMA_HOST": ollama}
        self.reported: list[str] = []

    def up(self, timeout_s: float = 30.0, migrate: Callable[[str], None] = lambda url: None) -> dict[str, PartStatus]:
        parts = up(
            self.home,
            self.environment,
            workers=False,
            api=False,
            flower=False,
            timeout_s=timeout_s,
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
        found = []
        for process in psutil.process_iter():
            try:
                if Path(process.cwd()).is_relative_to(self.home.folder):
                    found.append(process.name())
            except psutil.Error:
                continue
        return found


def pids(parts: dict[str, PartStatus]) -> dict[str, int | None]:
    return {name: part.pid for name, part in parts.items()}


def kill_supervisor(stack: Stack) -> None:
    pid = int(stack.home.supervisor_pid.read_text())
    os.kill(pid, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=10)


@pytest.fixture(scope="module")
def shared(module_folder: Path, ollama: str) -> Iterator[Stack]:
    """A stack whose data every test may use; it is stopped between the tests."""
    yield Stack(module_folder / "home", ollama)


@pytest.fixture
def stack(shared: Stack) -> Iterator[Stack]:
    shared.reported.clear()
    yield shared
    shared.down()
    assert shared.processes() == []


def test_up_makes_every_part_healthy_and_reports_it(stack: Stack) -> None:
    parts = stack.up()
    assert {name: (part.state == "external", part.healthy) for name, part in parts.items()} == {
        "postgres": (False, True),
        "valkey": (False, True),
        "llm": (True, True),
    }
    assert sorted(line.split()[0] for line in stack.reported) == ["postgres", "schema", "valkey"]


def test_the_schema_is_brought_up_once_the_database_answers(stack: Stack) -> None:
    stack.up(migrate=lambda url: execute(url, "CREATE TABLE IF NOT EXISTS migrated ()"))
    execute(stack.database_url, "SELECT FROM migrated")


def test_data_ports_and_passwords_are_kept_over_down_and_up(stack: Stack) -> None:
    stack.up()
    url = stack.database_url
    execute(url, "CREATE TABLE kept ()")
    assert sorted(stack.down()) == ["postgres", "valkey"]
    stack.up()
    assert stack.database_url == url
    execute(url, "SELECT FROM kept")


def test_the_children_of_a_killed_supervisor_are_found_and_replaced(stack: Stack) -> None:
    first = stack.up()
    kill_supervisor(stack)
    assert stack.status() == {"postgres": ("orphaned", False), "valkey": ("orphaned", False)}
    second = stack.up()
    assert all(part.healthy for part in second.values())
    assert not pids(first).items() & {name: pid for name, pid in pids(second).items() if pid}.items()
    assert sorted(stack.processes()).count("valkey-server") == 1


def test_a_stack_that_was_killed_whole_starts_again(stack: Stack) -> None:
    parts = stack.up()
    kill_supervisor(stack)
    for pid in filter(None, pids(parts).values()):
        kill_tree(pid)
    assert all(part.healthy for part in stack.up().values())


def test_a_port_taken_by_another_process_is_left_to_it(stack: Stack) -> None:
    port = stack.up()["valkey"].port
    stack.down()
    with socket.create_server((LOOPBACK, port or 0)):
        parts = stack.up()
        assert parts["valkey"].healthy
        assert parts["valkey"].port != port


def test_a_part_that_cannot_start_shows_its_log_and_nothing_runs_on(stack: Stack) -> None:
    stack.up()
    stack.down()
    config = stack.home.folder / "postgres" / "cluster" / "postgresql.conf"
    sound = config.read_text()
    config.write_text("shared_buffers = nonsense\n")
    with pytest.raises(StackError, match=r'(?s)^postgres ends as soon .*logs/postgres\.log:\n.*"shared_buffers"'):
        stack.up()
    assert stack.processes() == []
    assert stack.home.read_state() is None
    config.write_text(sound)


def test_a_failing_migration_leaves_nothing_running(stack: Stack) -> None:
    def migrate(url: str) -> None:
        raise StackError("no such revision")

    with pytest.raises(StackError, match="no such revision"):
        stack.up(migrate=migrate)
    assert stack.processes() == []


def test_a_server_from_outside_that_does_not_answer_is_named(stack: Stack) -> None:
    broken = Stack(stack.home.folder, f"127.0.0.1:{free_port()}")
    with pytest.raises(StackError, match=r"^OLLAMA_HOST is http://127\.0\.0\.1:\d+, and nothing usable answers there"):
        broken.up()
    assert stack.processes() == []


def test_two_homes_run_side_by_side(stack: Stack, open_folder: Path, ollama: str) -> None:
    # A deep path, so that the supervisor's socket must be elsewhere; with a space, as users have them.
    other = Stack(open_folder / "another home" / ("deep" * 20), ollama)
    stack.up()
    other.up()
    assert other.database_url != stack.database_url
    assert sorted(other.down()) == ["postgres", "valkey"]
    assert stack.status()["postgres"][1]
    other.home.supervisor_socket.parent.rmdir()
