"""Language models and embedders behind an Ollama server."""

import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from contextvars import ContextVar
from typing import Any, cast

import httpx
import numpy as np
import ollama
import pydantic
from ollama import ChatResponse
from ollama._types import Logprob

from adapters.logprobs import ReportedToken, signals_of
from adapters.model_lists import ModelServer, matrix_of, ollama_identity, retry_after_s, time_limit
from schemas.errors import LLMError, TextTooLongError
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from stages.models import naming_server
from stages.ports import OnText, TextVectors

LONGER = (
    "Use a model with a longer context; or set RAGQ_CONTEXT_TOKENS to what it has and run the job again, so that "
    "prompts are made to fit."
)

#: What the client gives for the status of an error that is a line of a stream.
_IN_STREAM = -1


class OllamaServer(ModelServer):
    """One server at a URL such as `http://127.0.0.1:11434`. Proxies of the environment are not used."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._client = ollama.AsyncClient(host=url, transport=_WholePrompts())
        self._lists = httpx.AsyncClient(timeout=None, trust_env=False)

    @asynccontextmanager
    async def _asking(self, model: str, *, timeout_s: float) -> AsyncIterator[None]:
        """Translate the errors of requests about a model in a block into those of the ports. The server's text is
        stored in `LLMError.detail`, never in a message: it may quote the prompt."""
        try:
            async with time_limit(timeout_s):
                with naming_server(self._url):
                    yield
        except ollama.ResponseError as error:
            raise self._refusal(model, error) from None
        except (json.JSONDecodeError, UnicodeDecodeError, pydantic.ValidationError) as error:
            raise LLMError(
                f"{self._url} answered a request for model '{model}' with something other than Ollama's JSON "
                f"({type(error).__name__}). Is it an Ollama server?"
            ) from None

    async def close(self) -> None:
        await self._client.close()  # type: ignore[no-untyped-call]
        await self._lists.aclose()

    async def _look_up(self, model: str) -> ModelIdentity:
        with naming_server(self._url):
            try:
                return await ollama_identity(self._lists, self._url, model)
            except httpx.ConnectError as error:
                # As the client raises it for every other request.
                raise ConnectionError(str(error)) from None

    def _refusal(self, model: str, error: ollama.ResponseError) -> LLMError:
        if error.status_code == httpx.codes.NOT_FOUND:
            return LLMError(
                f"{self._url} has no model '{model}'. Fetch it with `ollama pull {model}`, or name one that "
                "`ollama list` shows.",
                status=httpx.codes.NOT_FOUND,
            )
        said, status = str(error.error), error.status_code
        if status == _IN_STREAM:
            # The status of the reply was sent before: by then it is 200. The request itself was accepted.
            status = int(httpx.codes.INTERNAL_SERVER_ERROR)
            message = f"{self._url} ended its reply for model '{model}' with an error."
        elif is_too_long(error):
            where = f"the context of model '{model}' at {self._url}"
            message = f"The prompt is longer than {where}, and nothing was cut. {LONGER}"
        else:
            message = f"{self._url} answered a request for model '{model}' with status {status}."
        return LLMError(message, status=status, detail=said, retry_after_s=_retry_after_s.get())


def is_too_long(error: ollama.ResponseError) -> bool:
    """Whether a server refused a text that is longer than the context of its model."""
    said = str(error.error)
    return error.status_code == httpx.codes.BAD_REQUEST and "context" in said and "exceed" in said


_retry_after_s: ContextVar[float | None] = ContextVar("retry_after_s", default=None)
"""Of the last error in the context of a request."""


class _WholePrompts(httpx.AsyncHTTPTransport):
    """Adds fields to chat requests that the client lacks: refuse a prompt that does not fit, never cut it."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/api/chat"):
            body = json.loads(await request.aread()) | {"truncate": False, "shift": False}
            headers = [(name, value) for name, value in request.headers.items() if name != "content-length"]
            request = httpx.Request(
                request.method, request.url, headers=headers, json=body, extensions=request.extensions
            )
        response = await super().handle_async_request(request)
        if response.is_error:
            # The client drops the headers of an error: the caller reads this one from the context that it set.
            _retry_after_s.set(retry_after_s(response))
        return response


# By default, Ollama cuts a prompt that is longer than the context and still answers 200. Three measures prevent this
# here. The requested context is a generous estimate (`context_tokens`). Every request has `truncate: false` and
# `shift: false`, with which the server refuses a prompt that does not fit. And a reply whose prompt filled the whole
# context is an error, for servers that ignore these fields.

BYTES_PER_TOKEN = 2
"""A lower bound for usual tokenizers: English has about 4, other scripts 2 to 3."""
TEMPLATE_TOKENS_PER_MESSAGE = 64
REPLY_TOKENS = 1024
"""Room for a reply of unknown length."""
MIN_CONTEXT = 4096


class OllamaChat(OllamaServer):
    """The port ChatModel over an Ollama server."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._contexts: dict[str, int] = {}

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        """See ChatModel. `seconds` is the total waiting time; the call has the seed."""
        began = time.perf_counter()
        async with self._asking(call.model, timeout_s=call.timeout_s):
            model = await self.identity(call.model)
            num_ctx = self._context(call, model.context_tokens)
            request: dict[str, Any] = {
                "model": call.model,
                "messages": [message.model_dump() for message in call.messages],
                "format": call.json_schema if call.json_schema is not None else "json" if call.json_mode else None,
                "options": {"temperature": call.temperature, "seed": call.seed, "num_ctx": num_ctx}
                | ({} if call.max_tokens is None else {"num_predict": call.max_tokens}),
                "logprobs": True if call.top_logprobs else None,
                "top_logprobs": call.top_logprobs or None,
            }
            if on_text is None:
                answer = await self._client.chat(**request)
            else:
                answer = await self._streamed(request, on_text)
        if answer.message.content is None:
            raise LLMError(f"Model '{call.model}' at {self._url} answered without text.")
        if answer.prompt_eval_count is not None and answer.prompt_eval_count >= num_ctx:
            raise LLMError(
                f"The prompt filled the context of {num_ctx} tokens of model '{call.model}' and may have been cut. "
                f"{LONGER}"
            )
        tokens = (call.top_logprobs and answer.logprobs) or ()
        return ChatReply(
            text=answer.message.content,
            model=call.model,
            digest=model.digest,
            stop_reason=answer.done_reason or "",
            prompt_tokens=answer.prompt_eval_count,
            reply_tokens=answer.eval_count,
            seconds=time.perf_counter() - began,
            tokens=signals_of([ReportedToken.model_validate(token, from_attributes=True) for token in tokens]),
        )

    async def _streamed(self, request: dict[str, Any], on_text: OnText) -> ChatResponse:
        """The reply in pieces, as the server would have sent it whole."""
        text = ""
        logprobs: list[Logprob] = []
        pieces = await self._client.chat(**request, stream=True)
        async with aclosing(cast("AsyncGenerator[ChatResponse]", pieces)):
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
        """The context of a model, which never shrinks: the server reloads a model for every other size."""
        needed = max(context_tokens(call), self._contexts.get(call.model, 0))
        self._contexts[call.model] = needed if longest is None else min(needed, longest)
        return self._contexts[call.model]


def context_tokens(call: ChatCall) -> int:
    """A context that is large enough for the prompt and the reply: a power of two, at least 4,096 tokens.

    >>> context_tokens(ChatCall(model="m", messages=({"role": "user", "content": "a" * 12_000},)))
    8192
    """
    prompt_bytes = sum(len(message.content.encode()) for message in call.messages)
    needed = (
        prompt_bytes // BYTES_PER_TOKEN
        + TEMPLATE_TOKENS_PER_MESSAGE * len(call.messages)
        + (call.max_tokens or REPLY_TOKENS)
    )
    return max(MIN_CONTEXT, 1 << (needed - 1).bit_length())


# By default, Ollama cuts a text that is longer than the context and still answers 200. So each text is first sent with
# `truncate: false`, with which the server refuses it.


class OllamaEmbedder(OllamaServer):
    """The port Embedder over an Ollama server."""

    def __init__(self, name: str, *, url: str) -> None:
        super().__init__(url)
        self.name = name

    async def digest(self) -> str:
        """See Embedder. Requested once, then cached. Raises LLMError when the server has no such model."""
        return (await self.identity(self.name)).digest

    async def dtype(self) -> str:
        """See Embedder. Raises LLMError when the server has no such model."""
        return (await self.identity(self.name)).quantization or ""

    async def embed_batch(self, texts: Sequence[str], *, timeout_s: float, truncate: bool) -> TextVectors:
        """See Embedder. Raises LLMError when the server answers with an error. A server does not report which of
        several texts is too long: then each has a request of its own."""
        if not texts:
            return TextVectors(np.zeros((0, 0), dtype=np.float32))
        cut: list[int] = []
        async with self._asking(self.name, timeout_s=timeout_s):
            rows = await self._whole(texts)
            if rows is None:
                rows = []
                for position, text in enumerate(texts):
                    whole = await self._whole([text])
                    if whole is None:
                        if not truncate:
                            raise TextTooLongError(self.name, position, texts=len(texts), chars=len(text))
                        cut.append(position)
                        whole = await self._rows([text], truncate=True)
                    rows += whole
        return TextVectors(matrix_of(rows, model=self.name, texts=len(texts)), tuple(cut))

    async def _whole(self, texts: Sequence[str]) -> list[Sequence[float]] | None:
        """The vectors of whole texts; None if one of them is too long."""
        try:
            return await self._rows(texts, truncate=False)
        except ollama.ResponseError as error:
            if not is_too_long(error):
                raise
            return None

    async def _rows(self, texts: Sequence[str], *, truncate: bool) -> list[Sequence[float]]:
        reply = await self._client.embed(model=self.name, input=list(texts), truncate=truncate)
        return list(reply.embeddings)
