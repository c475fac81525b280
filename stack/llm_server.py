"""A small server that speaks Ollama's HTTP API over the packaged models: `python -m stack.llm_server --port 11434`.

It stands where an Ollama server would stand: SmolLM2-135M on llama.cpp for chat, all-MiniLM-L6-v2 for embed, each
loaded at the first call. Replies are computed one after the other (see stack/embedded_llm.py) on a thread, so that
everything else answers meanwhile. A prompt that does not fit is refused, never cut. No text is logged.
"""

import asyncio
import json
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Final, Literal, NamedTuple, TypeVar

import click
import structlog
import uvicorn
from pydantic import AliasPath, BaseModel, Field, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from adapters.local_models import SentenceTransformerEncoder
from adapters.weights import PACKAGED_EMBEDDER, PACKAGED_LLM, embedder_folder, llm_file, sha256_of
from schemas.errors import StackError
from stack import logs
from stack.embedded_llm import CONTEXT_TOKENS, EmbeddedLLM, GenerationCancelled, GenerationRefused
from stages.ports import Vectors

_SAMPLING: Final = {"top_k": 40, "top_p": 0.9, "min_p": 0.0, "repeat_last_n": 64}
"""Ollama's defaults."""

log = structlog.get_logger()

Body = TypeVar("Body", bound=BaseModel)


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
    logprobs: bool = False
    top_logprobs: int = Field(default=0, ge=0, le=20)
    num_predict: int | None = Field(default=None, validation_alias=AliasPath("options", "num_predict"))
    num_ctx: int | None = Field(default=None, gt=0, validation_alias=AliasPath("options", "num_ctx"))
    temperature: float = Field(default=0.8, ge=0, validation_alias=AliasPath("options", "temperature"))
    seed: int | None = Field(default=None, validation_alias=AliasPath("options", "seed"))

    def for_llama_cpp(self) -> dict[str, Any]:
        tokens = self.num_predict
        request: dict[str, Any] = {
            **_SAMPLING,
            "temperature": self.temperature,
            "repeat_penalty": 1.0 if _has_choices_alone(self.format) else 1.1,
            "messages": [message.model_dump() for message in self.messages],
            # Ollama would go on for ever, and a small model that has lost its thread does not stop by itself.
            "max_tokens": tokens if tokens is not None and tokens > 0 else 1024,
        }
        if self.seed is not None:
            request["seed"] = self.seed
        if self.logprobs or self.top_logprobs:
            request |= {"logprobs": True, "top_logprobs": self.top_logprobs}
        if self.format:
            request["json_schema"] = {"type": "object"} if self.format == "json" else self.format
        return request


def _has_choices_alone(schema: Any) -> bool:
    """Whether a schema leaves nothing to the model but choices. Then the penalty on repetition, which else makes
    constrained JSON end, would be one on the choice that was made last, or that the prompt named last."""
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


class ShowRequest(BaseModel):
    """POST /api/show."""

    model: str


class ServedModel(NamedTuple):
    """One of the two models, as clients see it."""

    name: str
    digest: str
    capability: str
    context_key: str
    context_length: int
    quantization: str

    @property
    def row(self) -> dict[str, Any]:
        details = {"quantization_level": self.quantization}
        return {"name": self.name, "model": self.name, "digest": self.digest, "details": details}


class Models:
    """The packaged models of this process, each on a thread of its own."""

    def __init__(self, *, threads: int) -> None:
        self._weights = llm_file()
        llm_digest, digest = sha256_of(self._weights), sha256_of(embedder_folder() / "model.safetensors")
        llm = ServedModel(PACKAGED_LLM, llm_digest, "completion", "llama.context_length", CONTEXT_TOKENS, "Q4_1")
        embedder = ServedModel(f"{PACKAGED_EMBEDDER}:latest", digest, "embedding", "bert.context_length", 256, "F32")
        self.by_name = {llm.name: llm, embedder.name: embedder}
        self.is_closing = threading.Event()
        self._threads = threads
        self.on_loaded: Callable[[], None] = lambda: None
        """Called on the event loop when the language model is loaded."""
        self._model: EmbeddedLLM | None = None
        self._encoder = SentenceTransformerEncoder(PACKAGED_EMBEDDER, threads=threads)
        self._llm_turn = ThreadPoolExecutor(1, thread_name_prefix="llm")
        self._embedder_turn = ThreadPoolExecutor(1, thread_name_prefix="embedder")

    def served(self, name: str, *, capability: str | None = None) -> ServedModel:
        """The model of a name; `:latest` may be left out. Raises HTTPException for no such,
        and when it cannot do this."""
        model = self.by_name.get(name, self.by_name.get(f"{name}:latest"))
        if model is None:
            raise HTTPException(404, f"model '{name}' not found")
        if capability not in (None, model.capability):
            raise HTTPException(400, f'"{model.name}" does not support {capability}')
        return model

    def generate(
        self, request: ChatRequest, on_text: Callable[[str], None], is_cancelled: Callable[[], bool]
    ) -> "asyncio.Future[dict[str, Any]]":
        """Queue a generation; `on_text` is called on the model's thread."""
        loop = asyncio.get_running_loop()

        def run() -> dict[str, Any]:
            if self._model is None:
                self._model = EmbeddedLLM(self._weights, threads=self._threads)
                loop.call_soon_threadsafe(self.on_loaded)
            return self._model.generate(
                request.for_llama_cpp(),
                num_ctx=request.num_ctx or CONTEXT_TOKENS,
                on_text=on_text,
                is_cancelled=lambda: is_cancelled() or self.is_closing.is_set(),
            )

        return loop.run_in_executor(self._llm_turn, run)

    async def embed(self, texts: list[str]) -> tuple[Vectors, list[int]]:
        """One row per text, and the tokens per text before the model's cut."""
        return await asyncio.get_running_loop().run_in_executor(
            self._embedder_turn, lambda: (self._encoder.encode(texts), self._encoder.count_whole_tokens(texts))
        )

    def close(self) -> None:
        """Give up what is being generated and wait for the threads."""
        self.is_closing.set()
        self._llm_turn.shutdown()
        self._embedder_turn.shutdown()


async def _body(request: Request, kind: type[Body]) -> Body:
    """The request's body. Raises HTTPException that names what is wrong without quoting it."""
    try:
        return kind.model_validate_json(await request.body())
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False, include_context=False)
        places = [f"{'.'.join(map(str, item['loc'])) or 'body'}: {item['msg']}" for item in found]
        raise HTTPException(400, "; ".join(places)) from None


class Answers:
    """The paths of the API over loaded models."""

    def __init__(self, models: Models) -> None:
        self.models = models

    async def version(self, _: Request) -> Response:
        """GET /api/version: that of ragq."""
        return JSONResponse({"version": version("ragq")})

    async def tags(self, _: Request) -> Response:
        """GET /api/tags: the models, and the name of the server, which has another port at each start: answers of the
        same weights are the same wherever it runs."""
        return JSONResponse({"server": "ragq embedded", "models": [one.row for one in self.models.by_name.values()]})

    async def show(self, request: Request) -> Response:
        """POST /api/show: one model."""
        model = self.models.served((await _body(request, ShowRequest)).model)
        return JSONResponse(
            {
                "details": model.row["details"],
                "model_info": {model.context_key: model.context_length},
                "capabilities": [model.capability],
            }
        )

    async def chat(self, request: Request) -> Response:
        """POST /api/chat: a conversation, whole or in pieces."""
        asked = await _body(request, ChatRequest)
        self.models.served(asked.model, capability="completion")
        pieces = self._pieces(request, asked)
        try:
            # What is refused is refused before any text.
            first = await anext(pieces)
            if asked.stream:
                return StreamingResponse(_lines(first, pieces), media_type="application/x-ndjson")
            text = first["message"]["content"]
            async for piece in pieces:
                text += piece["message"]["content"]
                first = piece
        except GenerationRefused as refused:
            raise HTTPException(400, str(refused)) from None
        except GenerationCancelled:
            raise HTTPException(503, "the server is ending, or nobody waits for the reply") from None
        return JSONResponse({**first, "message": {"role": "assistant", "content": text}})

    async def embed(self, request: Request) -> Response:
        """POST /api/embed: one text or many; without `truncate`, a text that is too long is refused."""
        asked = await _body(request, EmbedRequest)
        model = self.models.served(asked.model, capability="embedding")
        rows, tokens = await self.models.embed([asked.input] if isinstance(asked.input, str) else asked.input)
        most = model.context_length
        if not asked.truncate and max(tokens, default=0) > most:
            raise HTTPException(400, f"the input exceeds the context length: {max(tokens)} tokens of {most}")
        seen = sum(min(count, most) for count in tokens)
        return JSONResponse({"model": model.name, "embeddings": rows.tolist(), "prompt_eval_count": seen})

    async def _pieces(self, request: Request, asked: ChatRequest) -> AsyncIterator[dict[str, Any]]:
        """The reply as it comes, and how it ended. A client that goes away ends the generation."""
        loop, is_gone = asyncio.get_running_loop(), threading.Event()
        texts: asyncio.Queue[str | None] = asyncio.Queue()

        def on_text(text: str) -> None:
            loop.call_soon_threadsafe(texts.put_nowait, text)

        # After its body, a client has nothing to say but that it goes away.
        leaving = asyncio.ensure_future(request.receive())
        leaving.add_done_callback(lambda _: is_gone.set())
        generated = self.models.generate(asked, on_text, is_gone.is_set)
        generated.add_done_callback(lambda _: texts.put_nowait(None))
        try:
            while (text := await texts.get()) is not None:
                yield _line(text, done=False)
            # Log-probabilities stand here alone, also where the reply went out in pieces.
            ending = await generated
            yield _line("", done=True, **ending)
        finally:
            leaving.cancel()


async def _lines(first: dict[str, Any], rest: AsyncIterator[dict[str, Any]]) -> AsyncIterator[str]:
    """An error breaks the connection: half a reply must not look like a whole one."""
    yield json.dumps(first) + "\n"
    async for piece in rest:
        yield json.dumps(piece) + "\n"


def _line(text: str, **rest: Any) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    return {"model": PACKAGED_LLM, "created_at": now, "message": {"role": "assistant", "content": text}, **rest}


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)


async def _failed(request: Request, error: Exception) -> Response:
    """Name the kind of an unforeseen error: its message might quote a prompt."""
    log.error("request_failed", path=request.url.path, error=type(error).__name__)
    return JSONResponse({"error": "Internal Server Error"}, 500)


def application(models: Models) -> Starlette:
    answers = Answers(models)
    return Starlette(
        routes=[
            Route("/api/version", answers.version),
            Route("/api/tags", answers.tags),
            Route("/api/show", answers.show, methods=["POST"]),
            Route("/api/chat", answers.chat, methods=["POST"]),
            Route("/api/embed", answers.embed, methods=["POST"]),
        ],
        exception_handlers={HTTPException: _refused, Exception: _failed},
    )


class Server(uvicorn.Server):
    """Answers requests until SIGTERM or SIGINT, then lets go of everything."""

    def __init__(self, models: Models) -> None:
        # Uvicorn would log the messages of errors.
        super().__init__(uvicorn.Config(application(models), lifespan="off", log_config=None, log_level="critical"))
        self._models = models
        # llama.cpp takes the signals while it loads.
        models.on_loaded = self._take_signals

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn, which would end the process by the signal."""
        self._take_signals()
        yield

    def _take_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stop)

    def _stop(self) -> None:
        self._models.is_closing.set()
        self.should_exit = True


async def serve(*, host: str, port: int) -> None:
    """Answer until a signal, computing on at most four cores."""
    threads = min(4, os.cpu_count() or 1)
    models = Models(threads=threads)
    with socket.create_server((host, port)) as listening:
        log.info("llm_server_ready", host=host, port=listening.getsockname()[1], threads=threads)
        await Server(models).serve([listening])
    await asyncio.to_thread(models.close)
    log.info("llm_server_stopped")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen on this address. There is no password.")
@click.option("--port", type=click.IntRange(0, 65535), default=11434, show_default=True, help="0 picks a free port.")
def main(host: str, port: int) -> None:
    """Serve the packaged models through Ollama's HTTP API.

    Example: python -m stack.llm_server --port 11434
    """
    logs.configure("INFO", "console")
    try:
        asyncio.run(serve(host=host, port=port))
    except StackError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
