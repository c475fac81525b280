"""The commands of parts, their ends, and what a killed stack or a hung worker leaves."""

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call

import psutil
import pytest

from schemas.chains import CHAINS, QUEUES
from stack import heartbeats, supervision
from stack.home import Home, Part, State
from stack.lifecycle import end_orphans, find_orphans
from stack.parts import WORKER_CONCURRENCY, WORKER_QUEUES, flower_command, make_plan
from store.database import Connection
from tests.store.scored import enroll


def test_a_worker_takes_the_stages_of_its_group_and_no_other() -> None:
    of_model = {stage.name for chain in CHAINS.values() for stage in chain if stage.group == "model"}
    of_llm = {stage.name for chain in CHAINS.values() for stage in chain if stage.group == "llm"}
    assert {name: set(queues) for name, queues in WORKER_QUEUES.items()} == {
        "model": of_model | {f"{stage}.local" for stage in of_llm},
        "llm": of_llm,
    }
    assert sorted(queue for queues in WORKER_QUEUES.values() for queue in queues) == sorted(QUEUES)


def test_the_docs_start_the_workers_that_the_stack_starts() -> None:
    page = (Path(__file__).parents[2] / "docs/operations.md").read_text()
    started = re.findall(r"^ragq worker --stages (\S+) --concurrency (\d+)$", page, re.MULTILINE)
    assert started == [(name, str(concurrency)) for name, concurrency in WORKER_CONCURRENCY.items()]


def test_what_has_no_password_of_its_own_listens_on_loopback(tmp_path: Path) -> None:
    assert "--address=127.0.0.1" in flower_command(5555)
    servers = {"DATABASE_URL": "postgresql://h/d", "REDIS_URL": "redis://h"}
    assert "127.0.0.1" in make_plan(Home(tmp_path), servers, wanted=["llm"], running=()).parts["llm"].command


STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {STUBBORN!r}])"


@contextmanager
def running(program: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program that has printed a line."""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        started.stdout.readline()
        yield started


def test_killing_a_tree_ends_its_children_too() -> None:
    with running(PARENT) as process:
        [child] = psutil.Process(process.pid).children()
        supervision.kill_tree(process.pid)
        assert process.wait() == -signal.SIGKILL
        assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_a_process_that_does_not_listen_is_killed_and_ending_it_again_does_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervision, "STOP_TIMEOUT_S", 0.2)
    with running(STUBBORN) as stubborn:
        supervision.end(stubborn.pid, signal.SIGTERM)
        assert stubborn.wait() == -signal.SIGKILL
        supervision.end(stubborn.pid, signal.SIGTERM)
        supervision.kill_tree(stubborn.pid)


SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def state(started: float, command: list[str] = SLEEP) -> State:
    parts = {"valkey": Part(name="valkey", command=command)}
    return State(started=started, servers={}, flower_url=None, parts=parts)


def test_a_recorded_command_inside_the_home_that_is_younger_than_the_stack_is_ours_and_ended(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    started = time.time()
    with subprocess.Popen(SLEEP, cwd=tmp_path) as process:
        assert find_orphans(Home(tmp_path / "home"), state(started)) == {}
        assert find_orphans(Home(tmp_path), state(time.time() + 10)) == {}
        assert find_orphans(Home(tmp_path), state(started)) == {process.pid: "valkey"}
        assert end_orphans(Home(tmp_path), state(started)) == ["valkey"]
        assert find_orphans(Home(tmp_path), state(started)) == {}


#: Looks like a worker: only a process that was started with this word is one.
LIKE_A_WORKER = [sys.executable, "-c", "import time; time.sleep(60)", "workers.main"]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list["subprocess.Popen[bytes]"]]:
    monkeypatch.setattr(heartbeats, "_AGAIN_S", 1.0)
    processes = [subprocess.Popen(command) for command in (LIKE_A_WORKER, LIKE_A_WORKER, SLEEP)]
    yield processes
    for process in processes:
        process.kill()
        process.wait()


async def test_only_a_worker_that_lived_when_its_last_heartbeat_came_is_killed(
    connection: Connection, database_url: str, started: list["subprocess.Popen[bytes]"]
) -> None:
    hung, fresh, other = started
    for process in started:
        await enroll(connection, name=f"w{process.pid}", host=socket.gethostname(), pid=process.pid)
    await connection.execute("UPDATE worker SET seen_at = now() - interval '1 hour' WHERE pid = $1", fresh.pid)
    assert await look(database_url, 5) == []

    found = await look(database_url, 0)

    assert found == [hung.pid]
    assert (hung.wait(), fresh.poll(), other.poll()) == (-signal.SIGKILL, None, None)


def test_a_health_check_fails_where_it_killed(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    end_hung = Mock(side_effect=[[], [psutil.Process()]])
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("RAGQ_HUNG_SECONDS", "10")
    monkeypatch.setattr(sys, "argv", ["heartbeats"])
    monkeypatch.setattr(heartbeats, "end_hung", end_hung)

    assert [heartbeats.main() for _ in range(2)] == [0, 1]
    assert end_hung.call_args_list == [call(database_url, 10)] * 2


async def test_nobody_is_killed_while_the_database_is_away(database_url: str) -> None:
    assert await look(database_url.rpartition("/")[0] + "/nowhere", 0) == []


async def look(database_url: str, hung_s: float) -> list[int]:
    """In a thread, as it has an event loop of its own."""
    return [process.pid for process in await asyncio.to_thread(heartbeats.end_hung, database_url, hung_s)]


PROGRAM = """
import logging, structlog
from stack import logs

logs.configure("{level}", "json")
log = structlog.get_logger("ragq.stages")
log.debug("stage_started", job_id=1)
log.info("stage_stored", job_id=1)
logging.getLogger("asyncio").warning("slow")
logging.getLogger("celery").info("received")
"""
LINES: dict[str, dict[str, Any]] = {
    "stage_started": {"job_id": 1, "logger": "ragq.stages", "level": "debug"},
    "stage_stored": {"job_id": 1, "logger": "ragq.stages", "level": "info"},
    "slow": {"logger": "asyncio", "level": "warning"},
}


def test_lines_of_ragq_and_of_libraries_have_one_shape_and_those_below_the_level_are_dropped() -> None:
    for first, level in enumerate(("DEBUG", "INFO", "WARNING")):
        program = [sys.executable, "-c", PROGRAM.format(level=level)]
        done = subprocess.run(program, capture_output=True, text=True, check=True)

        found = [json.loads(line) for line in done.stderr.splitlines()]
        assert all(line.pop("timestamp") for line in found)
        assert found == [{"event": event, **facts} for event, facts in list(LINES.items())[first:]]
        assert done.stdout == ""
