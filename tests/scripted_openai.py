"""A server with OpenAI's API, whose list of models and replies the test defines."""

import asyncio
import json
from typing import Any, Self

from tests.canned import http


class ScriptedOpenAI:
    """The server, on a free port of loopback from `async with` to the end of the block. It counts its chats."""

    def __init__(self, *entries: dict[str, Any], text: str = "yes", list_status: int = 200) -> None:
        self.entries = list(entries)
        self.text = text
        self.list_status = list_status
        self.chats = 0
        self.ticks: int | None = None
        """Set: the `created` of every entry is this number, which rises with each reading of the list."""
        self.url = ""
        """The base URL, while it runs."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = head.partition("content-length:")[2].partition("\r\n")[0]
        await reader.readexactly(int(length or 0))
        if head.startswith("get"):
            writer.write(http(self.list_status, json.dumps({"object": "list", "data": self._listed()})))
        else:
            self.chats += 1
            completion = {"choices": [{"message": {"content": self.text}, "finish_reason": "stop"}]}
            writer.write(http(200, json.dumps(completion)))
        await writer.drain()
        writer.close()

    def _listed(self) -> list[dict[str, Any]]:
        if self.ticks is None:
            return self.entries
        self.ticks += 1
        return [entry | {"created": self.ticks} for entry in self.entries]
