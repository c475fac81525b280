"""A server with OpenAI's API, whose list of models and replies the test defines."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any, Self

from tests.canned import http
from tests.fakes.embedder import hash_vector


@dataclass
class ScriptedOpenAI:
    """The server, on a free port of loopback from `async with` to the end of the block.

    It embeds a text by `hash_vector`, and each character of it is a token.
    """

    entries: Sequence[dict[str, Any]] = ()
    text: str = "yes"
    list_status: int = 200
    pieces: Sequence[str] = ()
    """Set: what a request for a stream gets before the connection closes; else it gets the whole reply."""
    reads: int = 10**9
    """The tokens of a text that the embedder reads."""
    cuts: bool = False
    """Cut longer texts, instead of refusing them."""
    reports_usage: bool = True
    asked: list[dict[str, Any]] = field(default_factory=list)
    """The bodies of all requests."""
    url: str = ""
    """The base URL, while it runs."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = head.partition("content-length:")[2].partition("\r\n")[0]
            body = json.loads(await reader.readexactly(int(length or 0)) or "{}")
            if head.startswith("get"):
                writer.write(http(self.list_status, json.dumps({"object": "list", "data": [*self.entries]})))
            elif "/embeddings " in head:
                self.asked.append(body)
                writer.write(self._embeddings(body["input"]))
            else:
                self.asked.append(body)
                writer.write(self._streamed() if body.get("stream") and self.pieces else self._completion())
            await writer.drain()

    def _completion(self) -> bytes:
        choice = {"message": {"content": self.text}, "finish_reason": "stop", "logprobs": None}
        return http(200, json.dumps({"choices": [choice]}))

    def _streamed(self) -> bytes:
        chunks = ({"choices": [{"delta": {"content": piece}}]} for piece in ("", *self.pieces))
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        return (head + ": a comment\n\n" + "".join(lines)).encode()

    def _embeddings(self, texts: list[str]) -> bytes:
        if not self.cuts and any(len(text) > self.reads for text in texts):
            error = {"message": f"This model's maximum context length is {self.reads} tokens: {texts[0]}"}
            return http(400, json.dumps({"error": error}))
        rows = [{"index": at, "embedding": hash_vector(text[: self.reads])} for at, text in enumerate(texts)]
        usage = {"usage": {"prompt_tokens": sum(min(len(text), self.reads) for text in texts)}}
        # The order of the rows is the server's affair.
        return http(200, json.dumps({"data": rows[::-1]} | (usage if self.reports_usage else {})))
