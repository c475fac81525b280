"""A server with Ollama's API that replies as the test defines and counts its chats."""

import itertools
import json
import re
import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

from tests import run_folder
from tests.fakes.embedder import hash_vector
from tests.served import Handler, served

ACCEPT = '{"decision": "accept"}'
REJECT = '{"decision": "reject"}'


@dataclass(frozen=True)
class ScriptedReply:
    """The outcome of one chat call."""

    text: str = ACCEPT
    status: int = 200
    """Other than 200: the text is Ollama's `error`."""
    delay_s: float = 0.0
    hang_up: bool = False
    """Close the connection without a word; a stream, after its first piece."""
    stream_error: str = ""
    """The error with which a stream ends after its pieces, instead of an end."""
    retry_after: str = ""
    """The header Retry-After of a status other than 200."""
    piece_delay_s: float = 0.0
    """What a stream waits after each piece, which is a word."""


@dataclass
class ScriptedModel:
    """One model of the server. `answer` gives the reply to a prompt; `prompts` lists the prompts in order."""

    name: str
    answer: Callable[[str], ScriptedReply]
    prompts: list[str] = field(default_factory=list)
    abandoned: int = 0
    """Calls whose client went away before the reply."""

    @property
    def calls(self) -> int:
        """The number of calls that reached the server."""
        return len(self.prompts)

    @property
    def calls_per_prompt(self) -> Counter[str]:
        """The number of calls per prompt: above 1, a call was paid twice."""
        return Counter(self.prompts)


class ScriptedOllama:
    """The server, on a free port from `with` to the end of the block. Each test makes its own models."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.port = 0
        """Where it listens."""
        self.models: dict[str, ScriptedModel] = {}
        self.digests: dict[str, str] = {}
        """Other digests than those of the names."""
        self.requests: list[tuple[str, Any]] = []
        """Path and body of every POST, in order."""
        self.closing = threading.Event()
        self._numbers = itertools.count(1)
        self._serving = served(partial(_Handler, self), host)

    def model(
        self, answer: Callable[[str], ScriptedReply] = lambda prompt: ScriptedReply(), name: str | None = None
    ) -> ScriptedModel:
        """A new model. Without `name` it gets one of its own, so that no call of it is in any ledger yet."""
        model = ScriptedModel(name or f"judge_{run_folder.worker()}:{next(self._numbers)}", answer)
        self.models[model.name] = model
        return model

    def __enter__(self) -> Self:
        self.port = int(self._serving.__enter__().rpartition(":")[2])
        return self

    def __exit__(self, *error: Any) -> None:
        self.closing.set()
        self._serving.__exit__(*error)


class _Handler(Handler):
    protocol_version = "HTTP/1.1"

    def __init__(self, script: ScriptedOllama, *of_connection: Any) -> None:
        self._script = script
        super().__init__(*of_connection)

    def do_GET(self) -> None:
        script = self._script
        digests = {name: script.digests.get(name, f"sha256:{name}") for name in script.models}
        self.send(200, {"models": [{"model": name, "digest": digest} for name, digest in digests.items()]})

    def do_POST(self) -> None:
        asked = json.loads(self.body())
        self._script.requests.append((self.path, asked))
        model = self._script.models.get(asked["model"])
        if model is None:
            self.send(404, {"error": f"model '{asked['model']}' not found"})
        elif self.path == "/api/show":
            self.send(200, {"model_info": {"scripted.context_length": 32_768}})
        elif self.path == "/api/embed":
            texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
            rows = [hash_vector(text) for text in texts]
            self.send(200, {"model": model.name, "embeddings": rows, "prompt_eval_count": 5})
        else:
            self._chat(model, "\n".join(message["content"] for message in asked["messages"]), asked.get("stream", True))

    def _chat(self, model: ScriptedModel, prompt: str, is_stream: bool) -> None:
        model.prompts.append(prompt)
        reply = model.answer(prompt)
        if self._is_abandoned(reply.delay_s):
            model.abandoned += 1
            self.close_connection = True
            return
        if is_stream and reply.status == 200:
            self._stream(model, reply)
        elif reply.hang_up:
            self.close_connection = True
        elif reply.status != 200:
            wait = {"retry_after": reply.retry_after} if reply.retry_after else {}
            self.send(reply.status, {"error": reply.text}, **wait)
        else:
            self.send(200, _reply(model.name, reply.text))

    def _is_abandoned(self, delay_s: float) -> bool:
        """Wait; whether the client went away meanwhile."""
        until = time.monotonic() + delay_s
        while (left_s := until - time.monotonic()) > 0 and not self._script.closing.is_set():
            readable, _, _ = select.select([self.connection], [], [], min(left_s, 0.1))
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                return True
        return False

    def _stream(self, model: ScriptedModel, reply: ScriptedReply) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        pieces = re.findall(r"\s*\S+", reply.text)[: 1 if reply.hang_up else None]
        lines = [_event(model.name, piece) | {"done": False} for piece in pieces]
        end = {"error": reply.stream_error} if reply.stream_error else _reply(model.name, "")
        for line in lines if reply.hang_up else [*lines, end]:
            self.wfile.write(json.dumps(line).encode() + b"\n")
            self.wfile.flush()
            self._script.closing.wait(reply.piece_delay_s)


def _event(model: str, text: str) -> dict[str, Any]:
    return {"model": model, "message": {"role": "assistant", "content": text}}


def _reply(model: str, text: str) -> dict[str, Any]:
    ends = {"done": True, "done_reason": "stop", "prompt_eval_count": 100, "eval_count": 5}
    return _event(model, text) | ends
