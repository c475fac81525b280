"""Whom the health check of a worker kills."""

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from unittest.mock import Mock, call

import psutil
import pytest

from stack import heartbeats
from store.database import Connection
from tests.store.enrolled import enroll

pytestmark = pytest.mark.servers

#: Looks like a worker: only a process that was started with this word is one.
LIKE_A_WORKER = [sys.executable, "-c", "import time; time.sleep(60)", "workers.main"]
SLEEPER = LIKE_A_WORKER[:3]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list["subprocess.Popen[bytes]"]]:
    monkeypatch.setattr(heartbeats, "_AGAIN_S", 1.0)
    processes = [subprocess.Popen(command) for command in (LIKE_A_WORKER, LIKE_A_WORKER, SLEEPER)]
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
