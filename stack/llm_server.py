"""A small server that speaks Ollama's HTTP API over the packaged models: `python -m stack.llm_server --port 11434`.

It stands where an Ollama server would stand: SmolLM2-135M on llama.cpp for chat and generate, all-MiniLM-L6-v2 for
embed, each loaded at the first call; the first is let go when nobody asked for it for KEPT_S. Replies are computed one
after the other (see stack/embedded_llm.py) on a thread, so that everything else answers meanwhile. A prompt that does
not fit is refused, never cut. No text is logged.
"""

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import click
import numpy as np
import structlog
import tornado.httpserver
import tornado.iostream
import tornado.netutil
import tornado.web
from pydantic import BaseModel, ValidationError

from adapters.sentence_transformer_encoder import SentenceTransformerEncoder
from adapters.weights import PACKAGED_EMBEDDER, PACKAGED_LLM, embedder_folder, sha256_of
from schemas.errors import StackError
from stack.embedded_llm import (
    CONTEXT_TOKENS,
    EmbeddedLLM,
    Generated,
    GenerationCancelled,
    GenerationRefused,
    embedded_weights,
)
from stack.ollama_requests import ChatRequest, EmbeddingsRequest, EmbedRequest, GenerateRequest, Generation, ShowRequest
from stages.ports import Vectors

NANOSECONDS = 1_000_000_000

KEPT_S = 60.0
"""How long the language model stays in memory without a request: 300 MB, and half a second to load it again."""

SERVER_NAME = "ragq embedded"
"""Answers of the same weights are the same wherever this server runs."""

log = structlog.get_logger()

Body = TypeVar("Body", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class ServedModel:
    """One of the two models, as clients see it."""

    name: str
    weights: Path
    digest: str
    capability: str
    context_length: int
    details: dict[str, Any]
    model_info: dict[str, Any]

    @property
    def row(self) -> dict[str, Any]:
        """What lists of models say of it."""
        stat = self.weights.stat()
        return {
            "name": self.name,
            "model": self.name,
            "modified_at": _timestamp(stat.st_mtime),
            "size": stat.st_size,
            "digest": self.digest,
            "details": self.details,
        }


class Models:
    """The packaged models of this process, each on a thread of its own."""

    def __init__(self, *, threads: int, kept_s: float = KEPT_S) -> None:
        self.llm = _served_llm(embedded_weights())
        self.embedder = _served_embedder(embedder_folder() / "model.safetensors")
        self.embedder_is_loaded = False
        self.is_closing = threading.Event()
        self._threads = threads
        self.on_loaded: Callable[[], None] = lambda: None
        """Called on the event loop after each loading of the language model."""
        self._kept_s = kept_s
        self._model: EmbeddedLLM | None = None
        self._used_at = time.monotonic()
        self._encoder = SentenceTransformerEncoder(PACKAGED_EMBEDDER, threads=threads)
        self._llm_turn = ThreadPoolExecutor(1, thread_name_prefix="llm")
        self._embedder_turn = ThreadPoolExecutor(1, thread_name_prefix="embedder")

    @property
    def loaded(self) -> dict[str, datetime]:
        """The names of the models that are in memory, and until when."""
        found = {}
        if self._model is not None:
            idle_s = time.monotonic() - self._used_at
            found[self.llm.name] = datetime.now(UTC) + timedelta(seconds=self._kept_s - idle_s)
        if self.embedder_is_loaded:
            found[self.embedder.name] = datetime.max.replace(microsecond=0, tzinfo=UTC)
        return found

    def find(self, name: str) -> ServedModel | None:
        """The model of a name; `:latest` may be left out."""
        served = {self.llm.name: self.llm, self.embedder.name: self.embedder}
        return served.get(name, served.get(f"{name}:latest"))

    def generate(
        self, request: Generation, on_text: Callable[[str], None], is_cancelled: Callable[[], bool]
    ) -> "asyncio.Future[Generated]":
        """Queue a generation; `on_text` is called on the model's thread. Its future raises StackError when the model
        cannot be loaded."""
        loop = asyncio.get_running_loop()

        def run() -> Generated:
            try:
                return self._loaded(loop).generate(
                    request.for_llama_cpp(),
                    num_ctx=request.options.num_ctx or CONTEXT_TOKENS,
                    on_text=on_text,
                    is_cancelled=lambda: is_cancelled() or self.is_closing.is_set(),
                )
            finally:
                self._used_at = time.monotonic()
                loop.call_soon_threadsafe(loop.call_later, self._kept_s, self._let_go_soon)

        return loop.run_in_executor(self._llm_turn, run)

    def _loaded(self, loop: asyncio.AbstractEventLoop) -> EmbeddedLLM:
        if self._model is None:
            self._model = EmbeddedLLM(self.llm.weights, threads=self._threads)
            loop.call_soon_threadsafe(self.on_loaded)
        return self._model

    def _let_go_soon(self) -> None:
        if not self.is_closing.is_set():
            self._llm_turn.submit(self._let_go)

    def _let_go(self) -> None:
        """On the model's thread, so that it never answers meanwhile."""
        if time.monotonic() - self._used_at >= self._kept_s:
            self._model = None

    async def embed(self, texts: list[str]) -> tuple[Vectors, list[int]]:
        """One row per text, and the tokens per text before the model's cut."""

        def run() -> tuple[Vectors, list[int]]:
            rows, tokens = self._encoder.encode(texts), self._encoder.count_whole_tokens(texts)
            self.embedder_is_loaded = True
            return rows, tokens

        return await asyncio.get_running_loop().run_in_executor(self._embedder_turn, run)

    def close(self) -> None:
        """Give up what is being generated and wait for the threads."""
        self.is_closing.set()
        self._llm_turn.shutdown()
        self._embedder_turn.shutdown()


class Refusal(tornado.web.HTTPError):
    """A request that is answered with a status and `{"error": message}`."""

    def __init__(self, status: int, message: str) -> None:
        self.message = message
        super().__init__(status)


class Handler(tornado.web.RequestHandler):
    """What all paths share: JSON in, JSON out, errors as Ollama words them."""

    def initialize(self, models: Models) -> None:
        self.models = models
        self.is_gone = threading.Event()
        self.began = time.monotonic()

    def on_connection_close(self) -> None:
        self.is_gone.set()

    def body(self, kind: type[Body]) -> Body:
        """The request's body. Raises a Refusal that names what is wrong without quoting it."""
        try:
            return kind.model_validate_json(self.request.body)
        except ValidationError as error:
            found = error.errors(include_input=False, include_url=False, include_context=False)
            places = [f"{'.'.join(map(str, item['loc'])) or 'body'}: {item['msg']}" for item in found]
            raise Refusal(400, "; ".join(places)) from None

    def served(self, name: str, *, capability: str | None = None) -> ServedModel:
        """The model asked for. Raises a Refusal when there is none, or when it cannot do this."""
        model = self.models.find(name)
        if model is None:
            raise Refusal(404, f"model '{name}' not found")
        if capability not in (None, model.capability):
            raise Refusal(400, f'"{model.name}" does not support {capability}')
        return model

    def elapsed_ns(self) -> int:
        return int((time.monotonic() - self.began) * NANOSECONDS)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None, None))[1]
        self.finish({"error": error.message if isinstance(error, Refusal) else self._reason})

    def log_exception(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Name the kind of an unforeseen error: its message might quote a prompt."""
        if kind is not None and not issubclass(kind, tornado.web.HTTPError | tornado.iostream.StreamClosedError):
            log.error("request_failed", path=self.request.path, error=kind.__name__)


class Root(Handler):
    """GET /: is anybody there?"""

    def get(self) -> None:
        self.finish("ragq's embedded LLM server is running")

    def head(self) -> None:
        self.finish()


class NotFound(Handler):
    """Every other path."""

    def prepare(self) -> None:
        raise Refusal(404, f"path '{self.request.path}' not found")


class Version(Handler):
    """GET /api/version: that of ragq."""

    def get(self) -> None:
        self.finish({"version": version("ragq")})


class Tags(Handler):
    """GET /api/tags: the models, and the name of the server, which has another port at each start."""

    def get(self) -> None:
        self.finish({"server": SERVER_NAME, "models": [self.models.llm.row, self.models.embedder.row]})


class Running(Handler):
    """GET /api/ps: the models that are loaded, and until when."""

    def get(self) -> None:
        rows = []
        for name, until in self.models.loaded.items():
            model = self.served(name)
            expires_at = until.isoformat().replace("+00:00", "Z")
            rows.append({**model.row, "expires_at": expires_at, "size_vram": 0, "context_length": model.context_length})
        self.finish({"models": rows})


class Show(Handler):
    """POST /api/show: one model."""

    def post(self) -> None:
        model = self.served(self.body(ShowRequest).model)
        self.finish(
            {
                "license": "Apache-2.0",
                "modelfile": f"FROM {model.weights.name}\n",
                "parameters": "",
                "template": "",
                "details": model.details,
                "model_info": model.model_info,
                "capabilities": [model.capability],
                "modified_at": model.row["modified_at"],
            }
        )


class Generate(Handler):
    """POST /api/generate: one prompt."""

    kind: type[Generation] = GenerateRequest

    def shape(self, text: str) -> dict[str, Any]:
        """A piece of the reply as this path words it."""
        return {"response": text}

    async def post(self) -> None:
        request = self.body(self.kind)
        model = self.served(request.model, capability="completion")
        if (feature := request.unsupported()) is not None:
            raise Refusal(400, f'"{model.name}" does not support {feature}')
        if not request.conversation:
            self.finish(self._line("", done=True, done_reason="load"))
            return
        try:
            await (self._answer_in_pieces(request) if request.stream else self._answer_whole(request))
        except GenerationRefused as refused:
            raise Refusal(400, str(refused)) from None
        except GenerationCancelled:
            # Half a reply must not look like a whole one: the client, if it is still there, sees a broken connection.
            self.detach().close()

    async def _answer_whole(self, request: Generation) -> None:
        pieces: list[str] = []
        async for piece in self._pieces(request):
            if isinstance(piece, Generated):
                self.finish(self._line("".join(pieces), **self._ending(piece)))
            else:
                pieces.append(piece)

    async def _answer_in_pieces(self, request: Generation) -> None:
        async for piece in self._pieces(request):
            self.set_header("Content-Type", "application/x-ndjson")
            if isinstance(piece, Generated):
                line = self._line("", **self._ending(piece))
            else:
                line = self._line(piece, done=False)
            self.write(json.dumps(line) + "\n")
            await self.flush()

    async def _pieces(self, request: Generation) -> AsyncIterator[str | Generated]:
        """The reply as it comes, and how it ended. A client that goes away ends the generation."""
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[str | None] = asyncio.Queue()

        def on_text(text: str) -> None:
            loop.call_soon_threadsafe(pieces.put_nowait, text)

        generated = self.models.generate(request, on_text, self.is_gone.is_set)
        generated.add_done_callback(lambda _: pieces.put_nowait(None))
        while (piece := await pieces.get()) is not None:
            yield piece
        yield await generated

    def _line(self, text: str, **rest: Any) -> dict[str, Any]:
        return {"model": self.models.llm.name, "created_at": _timestamp(time.time()), **self.shape(text), **rest}

    def _ending(self, generated: Generated) -> dict[str, Any]:
        """The last line. Log-probabilities stand here alone, also where the reply went out in pieces."""
        ending: dict[str, Any] = {
            "done": True,
            "done_reason": generated.stop_reason,
            "total_duration": self.elapsed_ns(),
            "load_duration": 0,
            "prompt_eval_count": generated.prompt_tokens,
            "prompt_eval_duration": int(generated.prompt_s * NANOSECONDS),
            "eval_count": generated.reply_tokens,
            "eval_duration": int(generated.reply_s * NANOSECONDS),
        }
        return ending | ({"logprobs": generated.logprobs} if generated.logprobs else {})


class Chat(Generate):
    """POST /api/chat: a conversation."""

    kind = ChatRequest

    def shape(self, text: str) -> dict[str, Any]:
        return {"message": {"role": "assistant", "content": text}}


class Embed(Handler):
    """POST /api/embed: one text or many; `truncate: false` refuses a text of which the model would see only a part."""

    async def post(self) -> None:
        request = self.body(EmbedRequest)
        model = self.served(request.model, capability="embedding")
        rows, tokens = await self.models.embed(request.texts)
        if not request.truncate and max(tokens, default=0) > model.context_length:
            raise Refusal(400, f"the input exceeds the context length: {max(tokens)} tokens of {model.context_length}")
        self.finish(
            {
                "model": model.name,
                "embeddings": _shortened(rows, request.dimensions).tolist(),
                "total_duration": self.elapsed_ns(),
                "load_duration": 0,
                "prompt_eval_count": sum(min(count, model.context_length) for count in tokens),
            }
        )


class Embeddings(Handler):
    """POST /api/embeddings: the older way, one text."""

    async def post(self) -> None:
        request = self.body(EmbeddingsRequest)
        self.served(request.model, capability="embedding")
        rows, _ = await self.models.embed([request.prompt])
        self.finish({"embedding": rows[0].tolist()})


def application(models: Models) -> tornado.web.Application:
    """The paths of the API over loaded models."""
    with_models = {"models": models}
    handlers: dict[str, type[Handler]] = {
        "/": Root,
        "/api/version": Version,
        "/api/tags": Tags,
        "/api/ps": Running,
        "/api/show": Show,
        "/api/chat": Chat,
        "/api/generate": Generate,
        "/api/embed": Embed,
        "/api/embeddings": Embeddings,
    }
    return tornado.web.Application(
        [(path, handler, with_models) for path, handler in handlers.items()],
        default_handler_class=NotFound,
        default_handler_args=with_models,
        log_function=_log_request,
    )


async def serve(*, host: str, port: int, threads: int) -> None:
    """Answer requests until SIGTERM or SIGINT, then let go of everything."""
    stop = asyncio.Event()

    def stop_on_signals() -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)

    models = Models(threads=threads)
    # llama.cpp takes the signals while it loads.
    models.on_loaded = stop_on_signals
    server = tornado.httpserver.HTTPServer(application(models))
    server.add_sockets(sockets := tornado.netutil.bind_sockets(port, host))
    stop_on_signals()
    log.info("llm_server_ready", host=host, port=sockets[0].getsockname()[1], threads=threads)
    await stop.wait()
    server.stop()
    await asyncio.to_thread(models.close)
    await server.close_all_connections()
    log.info("llm_server_stopped")


def _cores() -> int:
    return min(4, os.cpu_count() or 1)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen on this address. There is no password.")
@click.option("--port", type=click.IntRange(0, 65535), default=11434, show_default=True, help="0 picks a free port.")
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=_cores,
    show_default="all cores, 4 at most",
    help="Cores to compute on.",
)
def main(host: str, port: int, threads: int) -> None:
    """Serve the packaged models through Ollama's HTTP API.

    Example: python -m stack.llm_server --port 11434
    """
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    try:
        asyncio.run(serve(host=host, port=port, threads=threads))
    except StackError as error:
        raise click.ClickException(str(error)) from None


def _served_llm(weights: Path) -> ServedModel:
    return ServedModel(
        name=PACKAGED_LLM,
        weights=weights,
        digest=sha256_of(weights),
        capability="completion",
        context_length=CONTEXT_TOKENS,
        details={
            "parent_model": "",
            "format": "gguf",
            "family": "llama",
            "families": ["llama"],
            "parameter_size": "134.52M",
            "quantization_level": "Q8_0",
        },
        model_info={
            "general.architecture": "llama",
            "general.parameter_count": 134_515_008,
            "llama.context_length": CONTEXT_TOKENS,
            "llama.embedding_length": 576,
        },
    )


def _served_embedder(weights: Path) -> ServedModel:
    return ServedModel(
        name=f"{PACKAGED_EMBEDDER}:latest",
        weights=weights,
        digest=sha256_of(weights),
        capability="embedding",
        context_length=256,
        details={
            "parent_model": "",
            "format": "safetensors",
            "family": "bert",
            "families": ["bert"],
            "parameter_size": "22.7M",
            "quantization_level": "F32",
        },
        model_info={
            "general.architecture": "bert",
            "general.parameter_count": 22_713_216,
            "bert.context_length": 256,
            "bert.embedding_length": 384,
        },
    )


def _shortened(rows: Vectors, dimensions: int | None) -> Vectors:
    """The first dimensions of each row, brought back to length 1."""
    if dimensions is None or dimensions >= rows.shape[1]:
        return rows
    cut = rows[:, :dimensions]
    lengths: Vectors = np.linalg.norm(cut, axis=1, keepdims=True)
    return cut / lengths


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _log_request(handler: tornado.web.RequestHandler) -> None:
    milliseconds = round(1000 * handler.request.request_time())
    log.info("request", path=handler.request.path, status=handler.get_status(), ms=milliseconds)


if __name__ == "__main__":
    main()
