"""The API in a process of its own."""

import asyncio
import json
import logging
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from api.server import PatientProtocol, _without_message
from schemas.settings.process import KNOWN_NAMES
from stack.ports import LOOPBACK, free_port
from tests.embedded import ValkeyServer
from tests.started import StartedServer, started

ROOT = Path(__file__).parents[2]
LISTENS = r"Uvicorn running on http://[^ ]*:(\d+) "


@pytest.fixture
def environment(
    database_url: str, valkey: ValkeyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> pytest.MonkeyPatch:
    """The environment of a server on a fresh database and a free port."""
    for name in KNOWN_NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "DATABASE_URL": database_url,
        "REDIS_URL": valkey.url,
        "RAGQ_HOME": str(tmp_path),
        "RAGQ_API_PORT": str(free_port()),
        "PYTHONPATH": str(ROOT),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return monkeypatch


def logged(server: StartedServer) -> list[dict[str, object]]:
    return [json.loads(line) for line in server.log.read_text().splitlines()]


def test_the_server_answers_logs_in_one_format_and_stops_on_a_signal_whatever_streams_are_open(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with (
        started("-m", "api.server", ready_line=LISTENS, log=tmp_path / "log") as server,
        httpx.Client(base_url=server.url, trust_env=False) as client,
        client.stream("GET", "/events") as events,
    ):
        page = client.get("/ui/login?next=/secret", headers={"Accept": "text/html"})
        client.get("/no/such/secret")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(15) in (0, -signal.SIGTERM)

    assert (page.status_code, events.status_code) == (200, 200)
    assert "server" not in page.headers
    lines = logged(server)
    ctx = [(line["route"], line["status"]) for line in lines if line["event"] == "request_served"]
    assert ctx == [("/ui/login", 200), (None, 404), ("/events", 200)]
    assert "secret" not in server.log.read_text()


def test_off_loopback_it_does_not_start_without_a_token(environment: pytest.MonkeyPatch, database_url: str) -> None:
    environment.setenv("RAGQ_API_HOST", "0.0.0.0")

    refused = subprocess.run([sys.executable, "-m", "api.server"], capture_output=True, text=True, check=False)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == (
        "ragq: Other machines can reach 0.0.0.0, and no API token is stored. Make one first, "
        "`ragq token create NAME`, or listen on 127.0.0.1.\n"
    )


def test_the_message_of_an_exception_is_not_logged() -> None:
    try:
        raise ValueError("what a participant said")
    except ValueError:
        record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 1, "Exception in %s\n", ("app",), sys.exc_info())

    assert _without_message(record)
    assert logging.Formatter().format(record) == "Exception in app: ValueError"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize(
    "request_of",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n",
    ],
)
async def test_a_connection_with_an_unfinished_request_is_closed_however_it_drips(
    monkeypatch: pytest.MonkeyPatch, request_of: bytes
) -> None:
    monkeypatch.setattr("api.server.UNFINISHED_SECONDS", 0.5)
    config = uvicorn.Config(echo, http=PatientProtocol, lifespan="off", log_config=None)
    config.load()
    state = uvicorn.server.ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: PatientProtocol(config, state, {}), LOOPBACK, 0)
    async with server:
        reader, writer = await asyncio.open_connection(LOOPBACK, server.sockets[0].getsockname()[1])
        writer.write(request_of)

        async def drip() -> None:
            while request_of:
                writer.write(b"x")
                await asyncio.sleep(0.1)

        dripping = asyncio.create_task(drip())
        async with asyncio.timeout(5):
            with suppress(ConnectionError):
                await reader.read(-1)
        dripping.cancel()
        writer.close()
