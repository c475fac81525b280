"""The application on a real port: an in-process transport would wait until a stream ends."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from httpx_sse import EventSource, ServerSentEvent, aconnect_sse

from stack.ports import LOOPBACK
from store.database import Connection
from tests.eventually import until
from tests.store.scored import enroll

Open = Callable[..., Any]


@pytest.fixture
async def address(app: FastAPI) -> AsyncIterator[str]:
    """The URL of the application, which runs in this event loop."""
    with socket.socket() as listening:
        listening.bind((LOOPBACK, 0))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=5))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        await until(lambda: server.started)
        yield f"http://{LOOPBACK}:{listening.getsockname()[1]}"
        server.should_exit = True
        await serving


@pytest.fixture
def watching(address: str) -> Open:
    """Opens a stream, and gives its events one by one."""

    @asynccontextmanager
    async def opened(path: str, **headers: str) -> AsyncIterator[AsyncIterator[ServerSentEvent]]:
        async with (
            httpx.AsyncClient(timeout=20, headers=headers) as client,
            aconnect_sse(client, "GET", address + path) as stream,
        ):
            assert isinstance(stream, EventSource)
            assert stream.response.status_code == 200
            yield stream.aiter_sse()

    return opened


@pytest.fixture
async def worker(connection: Connection) -> None:
    """A worker that was seen just now."""
    await enroll(connection, "embed")
