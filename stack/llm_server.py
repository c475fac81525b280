"""A small server that speaks Ollama's HTTP API over the packaged models: `python -m stack.llm_server --port 11434`.

It stands where an Ollama server would stand: SmolLM2-135M on llama.cpp for chat, all-MiniLM-L6-v2 for embed, each
loaded at the first call; the first is let go when nobody asked for it for KEPT_S. Replies are computed one
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
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, TypeVar

import click
import structlog
import tornado.httpserver
import tornado.iostream
import tornado.netutil
import tornado.web
from pydantic import BaseModel, Field, ValidationError

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
from stages.ports import Vectors

NANOSECONDS = 1_000_000_000

KEPT_S = 60.0
"""How long the language model stays in memory without a request: 300 MB, and half a second to load it again."""

SERVER_NAME = "ragq embedded"
"""Answers of the same weights are the same wherever this server runs."""

DEFAULT_REPLY_TOKENS = 1024
"""Where Ollama would go on for ever. A small model that has lost its thread does not stop by itself."""

_SAMPLING: Final = {"top_k": 40, "top_p": 0.9, "min_p": 0.0, "repeat_last_n": 64}
"""Ollama's defaults."""

log = structlog.get_logger()

Body = TypeVar("Body", bound=BaseModel)


class Options(BaseModel):
    """How to generate."""

    num_predict: int | None = None
    num_ctx: int | None = Field(default=None, gt=0)
    temperature: float = Field(default=0.8, ge=0)
    seed: int | None = None


class ChatMessage(BaseModel):
    """One message; without content it is empty."""

    role: Literal["system", "user", "assistant"]
    content: str = ""


class ChatRequest(BaseModel):
    """POST /api/chat. Unknown fields are ignored, as Ollama does."""

    model: str
    messages: list[ChatMessage]
    stream: bool = True
    format: Literal["", "json"] | dict[str, Any] | None = None
    options: Options = Options()
    logprobs: bool = False
    top_logprobs: int = Field(default=0, ge=0, le=20)

    def for_llama_cpp(self) -> dict[str, Any]:
        """The request in llama.cpp's terms."""
        options = self.options
        tokens = options.num_predict
        request: dict[str, Any] = {
            **_SAMPLING,
            "temperature": options.temperature,
            "repeat_penalty": _penalty(self.format),
            "messages": [message.model_dump() for message in self.messages],
            "max_tokens": tokens if tokens is not None and tokens > 0 else DEFAULT_REPLY_TOKENS,
        }
        if options.seed is not None:
            request["seed"] = options.seed
        if self.logprobs or self.top_logprobs:
            request |= {"logprobs": True, "top_logprobs": self.top_logprobs}
        if self.format:
            request["json_schema"] = {"type": "object"} if self.format == "json" else self.format
        return request


def _penalty(schema: Any) -> float:
    """The penalty on repetition, which also makes constrained JSON end.

    There is none where a schema leaves nothing to the model but choices: it would be a penalty on the choice that was
    made last, or that the prompt named last.
    """
    return 1.0 if _has_choices_alone(schema) else 1.1


def _has_choices_alone(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    if "enum" in schema or "const" in schema:
        return True
    is_closed = schema.get("additionalProperties") is False and isinstance(schema.get("properties"), dict)
    return is_closed and all(map(_has_choices_alone, schema["properties"].values()))


class EmbedRequest(BaseModel):
    """POST /api/embed."""

    model: str
    input: str | list[str]
    truncate: bool = True

    @property
    def texts(self) -> list[str]:
        """The input as a list."""
        return [self.input] if isinstance(self.input, str) else self.input


class ShowRequest(BaseModel):
    """POST /api/show."""

    model: str


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
        self.llm = _served(
            PACKAGED_LLM,
            embedded_weights(),
            "completion",
            CONTEXT_TOKENS,
            {"general.architecture": "llama", "general.parameter_count": 134_515_008, "llama.embedding_length": 576},
            format="gguf",
            parameter_size="134.52M",
            quantization_level="Q8_0",
        )
        self.embedder = _served(
            f"{PACKAGED_EMBEDDER}:latest",
            embedder_folder() / "model.safetensors",
            "embedding",
            256,
            {"general.architecture": "bert", "general.parameter_count": 22_713_216, "bert.embedding_length": 384},
            format="safetensors",
            parameter_size="22.7M",
            quantization_level="F32",
        )
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
    def is_loaded(self) -> bool:
        """Whether the language model is in memory."""
        return self._model is not None

    def find(self, name: str) -> ServedModel | None:
        """The model of a name; `:latest` may be left out."""
        served = {self.llm.name: self.llm, self.embedder.name: self.embedder}
        return served.get(name, served.get(f"{name}:latest"))

    def generate(
        self, request: ChatRequest, on_text: Callable[[str], None], is_cancelled: Callable[[], bool]
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
            return self._encoder.encode(texts), self._encoder.count_whole_tokens(texts)

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


class Show(Handler):
    """POST /api/show: one model."""

    def post(self) -> None:
        model = self.served(self.body(ShowRequest).model)
        self.finish(
            {
                "details": model.details,
                "model_info": model.model_info,
                "capabilities": [model.capability],
                "modified_at": model.row["modified_at"],
            }
        )


class Chat(Handler):
    """POST /api/chat: a conversation."""

    async def post(self) -> None:
        request = self.body(ChatRequest)
        self.served(request.model, capability="completion")
        try:
            await (self._answer_in_pieces(request) if request.stream else self._answer_whole(request))
        except GenerationRefused as refused:
            raise Refusal(400, str(refused)) from None
        except GenerationCancelled:
            # Half a reply must not look like a whole one: the client, if it is still there, sees a broken connection.
            self.detach().close()

    async def _answer_whole(self, request: ChatRequest) -> None:
        pieces: list[str] = []
        async for piece in self._pieces(request):
            if isinstance(piece, Generated):
                self.finish(self._line("".join(pieces), **self._ending(piece)))
            else:
                pieces.append(piece)

    async def _answer_in_pieces(self, request: ChatRequest) -> None:
        async for piece in self._pieces(request):
            self.set_header("Content-Type", "application/x-ndjson")
            if isinstance(piece, Generated):
                line = self._line("", **self._ending(piece))
            else:
                line = self._line(piece, done=False)
            self.write(json.dumps(line) + "\n")
            await self.flush()

    async def _pieces(self, request: ChatRequest) -> AsyncIterator[str | Generated]:
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
        message = {"role": "assistant", "content": text}
        return {"model": self.models.llm.name, "created_at": _timestamp(time.time()), "message": message, **rest}

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
                "embeddings": rows.tolist(),
                "total_duration": self.elapsed_ns(),
                "load_duration": 0,
                "prompt_eval_count": sum(min(count, model.context_length) for count in tokens),
            }
        )


def application(models: Models) -> tornado.web.Application:
    """The paths of the API over loaded models."""
    with_models = {"models": models}
    handlers: dict[str, type[Handler]] = {
        "/api/version": Version,
        "/api/tags": Tags,
        "/api/show": Show,
        "/api/chat": Chat,
        "/api/embed": Embed,
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


def _served(
    name: str, weights: Path, capability: str, context_length: int, model_info: dict[str, Any], **details: str
) -> ServedModel:
    family = model_info["general.architecture"]
    return ServedModel(
        name=name,
        weights=weights,
        digest=sha256_of(weights),
        capability=capability,
        context_length=context_length,
        details={"parent_model": "", "family": family, "families": [family], **details},
        model_info={**model_info, f"{family}.context_length": context_length},
    )


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _log_request(handler: tornado.web.RequestHandler) -> None:
    milliseconds = round(1000 * handler.request.request_time())
    log.info("request", path=handler.request.path, status=handler.get_status(), ms=milliseconds)


if __name__ == "__main__":
    main()
