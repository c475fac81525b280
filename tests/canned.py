"""A server that answers every request with the same bytes: for replies that no correct server sends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from typing import cast


@asynccontextmanager
async def canned(reply: bytes, *, delay_s: float = 0.0) -> AsyncIterator[str]:
    """The URL of a server that reads a request, waits, sends `reply` and closes the connection."""

    answers: set[asyncio.Task[None]] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers.add(cast("asyncio.Task[None]", asyncio.current_task()))
        with closing(writer), suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length or 0))
            await asyncio.sleep(delay_s)
            writer.write(reply)
            await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.close()
        for task in answers:
            task.cancel()
        await asyncio.gather(*answers, return_exceptions=True)


def http(status: int, body: str) -> bytes:
    """A reply as bytes."""
    length = len(body.encode())
    head = f"HTTP/1.1 {status} Whatever\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n"
    return f"{head}Connection: close\r\n\r\n{body}".encode()
