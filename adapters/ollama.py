"""Language models and embedders behind an Ollama server."""

import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast

import httpx
import ollama
from pydantic import ValidationError

from adapters.logprobs import ReportedToken, signals_of
from adapters.model_servers import ModelServer, Rows, ServedEmbedder, ollama_identity, status_error, time_limit
from schemas.errors import LLMError
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from stages.models import estimated_tokens, naming_server
from stages.ports import OnText

LONGER = (
    "Use a model with a longer context; or set RAGQ_CONTEXT_TOKENS to what it has and run the job again, so that "
    "prompts are made to fit."
)


class OllamaServer(ModelServer):
    """One server at a URL such as `http://127.0.0.1:11434`. Proxies of the environment are not used."""

    api = "Ollama"

    def __init__(self, url: str) -> None:
        super().__init__(url, httpx.AsyncClient(timeout=None, trust_env=False))
        self.asked = ollama.AsyncClient(host=url, transport=_WholePrompts())

    async def close(self) -> None:
        await super().close()
        await self.asked.close()  # type: ignore[no-untyped-call]

    async def _look_up(self, model: str) -> ModelIdentity:
        return await ollama_identity(self._client, self._url, model)

    def is_too_long(self, error: LLMError) -> bool:
        # A 500 may say "context deadline exceeded": a fault that passes.
        return error.status == httpx.codes.BAD_REQUEST and "context" in error.detail and "exceed" in error.detail

    @asynccontextmanager
    async def asking_about(self, model: str) -> AsyncIterator[None]:
        """A block that asks `asked` about a model, whose errors become those of the ports."""
        try:
            with naming_server(self._url):
                yield
        except ollama.ResponseError as error:
            # A line of a stream. The status of the reply was sent before: by then it is 200, for an accepted request.
            said = f"{self.shown_url} ended its reply for model '{model}' with an error."
            raise LLMError(said, status=httpx.codes.INTERNAL_SERVER_ERROR, detail=str(error.error)) from None
        except (json.JSONDecodeError, UnicodeDecodeError, ValidationError) as error:
            raise self.strange(model, type(error).__name__) from None


class _WholePrompts(httpx.AsyncHTTPTransport):
    """Adds fields to chat requests that the client lacks: refuse a prompt that does not fit, never cut it. And raises
    LLMError for an answer with an error, the headers of which the client drops."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        content = await request.aread()
        if request.url.path.endswith("/api/chat"):
            body = json.loads(content) | {"truncate": False, "shift": False}
            headers = [(name, value) for name, value in request.headers.items() if name != "content-length"]
            request = httpx.Request(
                request.method, request.url, headers=headers, json=body, extensions=request.extensions
            )
        response = await super().handle_async_request(request)
        if response.is_error:
            await response.aread()
            raise status_error(str(request.url), json.loads(content)["model"], response)
        return response


MIN_CONTEXT = 4096


class OllamaChat(OllamaServer):
    """The port ChatModel over an Ollama server.

    By default, Ollama cuts a prompt that is longer than the context and still answers 200. Three measures prevent this.
    The requested context is a generous estimate. Every request has `truncate: false` and `shift: false`, with which the
    server refuses a prompt that does not fit. And a reply whose prompt filled the whole context is an error, for
    servers that ignore these fields.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._contexts: dict[str, int] = {}

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        """See ChatModel. `seconds` is the total waiting time; the call has the seed."""
        began = time.perf_counter()
        async with time_limit(call.timeout_s):
            model = await self.identity(call.model)
            num_ctx = self._context(call, model.context_tokens)
            answer = await self._answer(chat_request(call, num_ctx), on_text)
        if answer.message.content is None:
            raise LLMError(f"Model '{call.model}' at {self.shown_url} answered without text.")
        if answer.prompt_eval_count is not None and answer.prompt_eval_count >= num_ctx:
            raise LLMError(
                f"The prompt filled the context of {num_ctx} tokens of model '{call.model}' and may have been cut. "
                f"{LONGER}"
            )
        return ChatReply(
            text=answer.message.content,
            model=call.model,
            digest=model.digest,
            stop_reason=answer.done_reason or "",
            prompt_tokens=answer.prompt_eval_count,
            reply_tokens=answer.eval_count,
            seconds=time.perf_counter() - began,
            tokens=signals_of(
                [ReportedToken.model_validate(token, from_attributes=True) for token in answer.logprobs or ()]
                if call.top_logprobs
                else None
            ),
        )

    async def _answer(self, request: dict[str, Any], on_text: OnText | None) -> ollama.ChatResponse:
        """The reply, also one in pieces as the server would have sent it whole."""
        model = request["model"]
        try:
            async with self.asking_about(model):
                if on_text is not None:
                    return await self._streamed(request, on_text)
                whole: ollama.ChatResponse = await self.asked.chat(**request)
                return whole
        except LLMError as error:
            if not self.is_too_long(error):
                raise
            where = f"the context of model '{model}' at {self.shown_url}"
            said = f"The prompt is longer than {where}, and nothing was cut. {LONGER}"
            raise LLMError(said, status=error.status, detail=error.detail) from None

    async def _streamed(self, request: dict[str, Any], on_text: OnText) -> ollama.ChatResponse:
        text = ""
        logprobs: list[Any] = []
        pieces = await self.asked.chat(**request, stream=True)
        async with aclosing(cast("AsyncGenerator[ollama.ChatResponse]", pieces)):
            async for piece in pieces:
                content = piece.message.content or ""
                text += content
                logprobs += piece.logprobs or []
                if content:
                    on_text(content)
                if piece.done:
                    piece.message.content = text
                    piece.logprobs = logprobs or None
                    return piece
        raise httpx.RemoteProtocolError("The stream ended before the reply did.")

    def _context(self, call: ChatCall, longest: int | None) -> int:
        """The context of a model, a power of two unless that is more than it has. It never shrinks: the server reloads
        a model for every other size."""
        fitting = 1 << (estimated_tokens(call) - 1).bit_length()
        needed = max(MIN_CONTEXT, fitting, self._contexts.get(call.model, 0))
        self._contexts[call.model] = needed if longest is None else min(needed, longest)
        return self._contexts[call.model]


def chat_request(call: ChatCall, num_ctx: int) -> dict[str, Any]:
    """What the client is asked with."""
    options = {"temperature": call.temperature, "seed": call.seed, "num_ctx": num_ctx}
    return {
        "model": call.model,
        "messages": [message.model_dump() for message in call.messages],
        "format": call.json_schema or ("json" if call.json_mode else None),
        "options": options if call.max_tokens is None else {**options, "num_predict": call.max_tokens},
        "logprobs": True if call.top_logprobs else None,
        "top_logprobs": call.top_logprobs or None,
    }


class OllamaEmbedder(ServedEmbedder):
    """The port Embedder over an Ollama server. By default, it cuts a text that is longer than the context and still
    answers 200; with `truncate: false` it refuses it."""

    server: OllamaServer

    def __init__(self, name: str, *, url: str) -> None:
        super().__init__(name, OllamaServer(url))

    async def _prepare(self, longest: int) -> None:
        """An unknown model is named."""
        await self.server.identity(self.name)

    async def _rows(self, texts: Sequence[str], *, truncate: bool = False) -> Rows:
        async with self.server.asking_about(self.name):
            reply = await self.server.asked.embed(model=self.name, input=list(texts), truncate=truncate)
        return reply.embeddings, None

    async def _start_of(self, text: str) -> Rows:
        return await self._rows([text], truncate=True)
