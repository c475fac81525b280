"""A server in between that can be cut off: what passes through it hangs, or breaks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit, urlunsplit


class TcpProxy:
    """Passes bytes on to a server until it is cut."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._passing = asyncio.Event()
        self._passing.set()
        self._server: asyncio.Server | None = None
        self._running: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The URL of the server by way of the proxy."""
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        user, _, _ = self._target.netloc.rpartition("@")
        return urlunsplit(self._target._replace(netloc=f"{user}@127.0.0.1:{port}"))

    def cut(self) -> None:
        """Let everything hang: connections stay open, and nothing passes."""
        self._passing.clear()

    def mend(self) -> None:
        """Pass on what waits."""
        self._passing.set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0)

    async def close(self) -> None:
        """End every connection, and listen no more."""
        assert self._server is not None
        self._server.close()
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        there_reader, there_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        try:
            await asyncio.gather(self._pass(reader, there_writer), self._pass(there_reader, writer))
        except asyncio.CancelledError:
            pass
        finally:
            for end in (writer, there_writer):
                end.transport.abort()
            self._running.discard(task)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while read := await reader.read(65536):
                await self._passing.wait()
                writer.write(read)
                await writer.drain()
            writer.close()


@asynccontextmanager
async def proxied(url: str) -> AsyncIterator[TcpProxy]:
    """A proxy for a server, for the block."""
    proxy = TcpProxy(url)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.close()
