"""Servers that come as wheels, their supervisor, and the stack; workers are started in tests/cli/test_stack.py."""

import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import psutil
import pytest
import redis

from schemas.errors import StackError
from stack import ports
from stack.connections import connections
from stack.home import Home, Part
from stack.lifecycle import PartStatus, down, status, up
from stack.ports import LOOPBACK, free_port
from stack.probes import execute
from stack.supervision import Supervisor, configuration, kill_tree
from tests import run_folder
from tests.embedded import PostgresServer, ValkeyServer
from tests.eventually import eventually
from tests.served import Handler, served

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


class _OnlyVersion(Handler):
    """Ollama as far as it says its version."""

    def do_GET(self) -> None:
        self.send(200 if self.path == "/api/version" else 500)


@pytest.fixture(scope="module")
def ollama() -> Iterator[str]:
    with served(_OnlyVersion) as url:
        yield url


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


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root hands Postgres to another user")


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer(run_folder.new_folder()) as server:
        yield server


async def test_a_killed_postgres_starts_again_with_its_data_on_the_same_port(postgres: PostgresServer) -> None:
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(postgres.url.replace(postgres.password, "guess"))
    url = postgres.url
    execute(url, "CREATE TABLE kept (id int)", "INSERT INTO kept VALUES (7)")
    postgres.kill()
    assert not postgres.answers()
    postgres.start()
    assert postgres.url == url
    connection = await asyncpg.connect(url)
    assert await connection.fetchval("SELECT id FROM kept") == 7
    await connection.close()


def test_a_failing_statement_leaves_no_row_in_the_log(postgres: PostgresServer) -> None:
    insert = "INSERT INTO secrets VALUES ('something private')"
    with pytest.raises(asyncpg.UniqueViolationError):
        execute(postgres.url, "CREATE TABLE secrets (words text UNIQUE)", insert, insert)
    log = (postgres.data_dir / "log").read_text()
    assert "unique constraint" in log
    assert "something private" not in log


def test_a_cluster_that_is_served_is_refused(postgres: PostgresServer) -> None:
    with pytest.raises(StackError, match=f"already serves .* as pid {postgres.pid}"):
        PostgresServer(postgres.data_dir).start()


@as_root
def test_root_serves_an_unreachable_cluster_in_a_user_namespace(tmp_path: Path) -> None:
    if not ports.has_user_namespaces():
        pytest.skip("user namespaces are forbidden here")
    tmp_path.chmod(0o700)
    with PostgresServer(tmp_path / "postgres") as server:
        assert server.account == ports.Account(prefix=ports.USER_NAMESPACE)
        assert server.answers()


@as_root
def test_root_without_access_gets_a_usable_folder_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(ports, "USER_NAMESPACE", ("no-such-program",))
    with pytest.raises(StackError, match=r"user 'nobody' cannot reach .* Set RAGQ_HOME"):
        PostgresServer(tmp_path / "postgres").prepare()


def test_valkey_listens_on_loopback_with_a_password_and_starts_again_on_its_port_with_its_data(tmp_path: Path) -> None:
    with ValkeyServer(tmp_path / "valkey") as valkey:
        listening = {c.laddr for c in psutil.Process(valkey.pid).net_connections() if c.status == psutil.CONN_LISTEN}
        assert listening == {(LOOPBACK, valkey.port)}
        with redis.Redis(port=valkey.port) as client, pytest.raises(redis.AuthenticationError):
            client.ping()
        url = valkey.url
        with redis.Redis.from_url(url) as client:
            client.set("kept", 1)
            assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
            valkey.kill()
            assert not valkey.answers()
            valkey.start()
            assert (valkey.url, valkey.answers(), client.get("kept")) == (url, True, b"1")


def sleeper(name: str) -> Part:
    return Part(name=name, command=[sys.executable, "-c", "import time; time.sleep(60)"])


def made(folder: Path) -> Home:
    home = Home(folder)
    home.make()
    return home


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    found = Supervisor(made(tmp_path))
    found.launch([sleeper("first")], os.environ)
    yield found
    found.shutdown()


def test_a_killed_part_is_started_again_and_keeps_running_when_others_are_new(supervisor: Supervisor) -> None:
    supervisor.start("first")
    killed = supervisor.parts()["first"]["pid"]
    assert killed
    os.kill(killed, signal.SIGKILL)
    eventually(lambda: supervisor.parts()["first"]["pid"] not in (killed, 0), timeout_s=15)

    pid = supervisor.parts()["first"]["pid"]
    supervisor.apply([sleeper("first"), sleeper("second"), Part(name="broken", command=["/no/such/program"])])

    found = {name: part["pid"] for name, part in supervisor.parts().items()}
    assert found == {"first": pid, "second": 0, "broken": 0}
    with pytest.raises(StackError, match=r"broken cannot be started: .*can't find command"):
        supervisor.start("broken")


def test_a_supervisor_that_cannot_start_reports_the_reason(tmp_path: Path) -> None:
    with pytest.raises(StackError, match=r"(?s)The supervisor did not start:.*no-such-user"):
        Supervisor(made(tmp_path)).launch([Part(name="broken", command=["true"], user="no-such-user")], os.environ)


def test_the_configuration_keeps_signs_that_supervisord_would_expand(tmp_path: Path) -> None:
    part = Part(name="odd", command=["run", "--name=a@%h", "two words"], environment={"URL": "redis://:p%40@h/0"})
    lines = configuration(Home(tmp_path), [part]).splitlines()
    assert "command=run --name=a@%%h 'two words'" in lines
    assert 'environment=URL="redis://:p%%40@h/0"' in lines


def test_later_parts_stop_first_each_with_its_signal_and_time(tmp_path: Path) -> None:
    parts = [Part(name="a", command=["a"], stop_signal=signal.SIGINT), Part(name="b", command=["b"], stop_timeout_s=60)]
    wanted = ("[program:", "priority=", "stopsignal=", "stopwaitsecs=")
    assert [line for line in configuration(Home(tmp_path), parts).splitlines() if line.startswith(wanted)] == [
        *("[program:a]", "stopsignal=INT", "stopwaitsecs=30", "priority=1"),
        *("[program:b]", "stopsignal=TERM", "stopwaitsecs=60", "priority=2"),
    ]
