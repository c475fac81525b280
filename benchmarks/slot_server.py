"""A scripted server with Ollama's HTTP API: every call takes the same time, and some are answered at once."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import tornado.httpserver
import tornado.netutil
import tornado.web

from schemas.settings.run import RunSettings
from schemas.values.phq8 import PHQ8Item

MODEL: Final = RunSettings().model.quantitative_model
_SCORED: Final = {"evidence": "it was said", "reason": "that often", "score": 1, "confidence": 3}
_SCORES: Final = json.dumps({item.evidence_key: _SCORED for item in PHQ8Item})
_QUOTES: Final = json.dumps({item.evidence_key: [] for item in PHQ8Item})


class SlotServer:
    """What the server does with its calls, and what it saw of them."""

    def __init__(self, *, slots: int, call_s: float) -> None:
        self.url = ""
        self.calls = 0
        self.most_at_once = 0
        self.began = self.ended = 0.0
        """When the first call came and when the last was answered, by the monotonic clock."""
        self._call_s = call_s
        self._at_once = 0
        self._slots = asyncio.Semaphore(slots)

    async def answer(self) -> None:
        """Take the time of a call, once a slot is free."""
        self.began = self.began or time.monotonic()
        self.calls += 1
        async with self._slots:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            await asyncio.sleep(self._call_s)
            self._at_once -= 1
        self.ended = time.monotonic()


class _Handler(tornado.web.RequestHandler):
    def initialize(self, server: SlotServer) -> None:
        self.server = server

    def get(self) -> None:
        row = {"name": MODEL, "model": MODEL, "digest": "0" * 64, "details": {"quantization_level": "F16"}}
        self.finish({"version": "0", "models": [row]})

    async def post(self) -> None:
        if not self.request.path.endswith("/chat"):
            self.finish({"details": {}, "model_info": {"general.context_length": 32768}, "capabilities": []})
            return
        await self.server.answer()
        asked: dict[str, Any] = json.loads(self.request.body)
        text = _SCORES if "<answer>" in asked["messages"][-1]["content"] else _QUOTES
        message = {"role": "assistant", "content": text}
        self.finish({"model": MODEL, "message": message, "done": True, "done_reason": "stop", "eval_count": 100})


@contextmanager
def slot_server(*, slots: int, call_s: float) -> Iterator[SlotServer]:
    """A server on a free port of loopback, on a thread of its own, until the block ends."""
    served = SlotServer(slots=slots, call_s=call_s)
    ready, loop, over = threading.Event(), asyncio.new_event_loop(), asyncio.Event()

    async def serve() -> None:
        application = tornado.web.Application([("/.*", _Handler, {"server": served})], log_function=lambda _: None)
        server = tornado.httpserver.HTTPServer(application)
        server.add_sockets(sockets := tornado.netutil.bind_sockets(0, "127.0.0.1"))
        served.url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
        ready.set()
        await over.wait()
        server.stop()
        await server.close_all_connections()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield served
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()
