"""Language models and embedders behind an Ollama server.

By default, Ollama cuts a text that is longer than the context and still answers 200. Three measures prevent this here.
The requested context of a chat is a generous estimate (`context_tokens`). Every request has `truncate: false`, and a
chat `shift: false`, with which the server refuses a text that does not fit. And a reply whose prompt filled the whole
context is an error, for servers that ignore these fields.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import httpx
import numpy as np
from pydantic import BaseModel, ValidationError

from adapters.logprobs import ReportedToken, signals_of
from adapters.model_lists import ollama_identity
from adapters.model_server import ModelServer, in_time, matrix_of
from schemas.errors import LLMError, TextTooLongError
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from stages.models import server_name
from stages.ports import OnText, TextVectors

LONGER = (
    "Use a model with a longer context; or set RAGQ_CONTEXT_TOKENS to what it has and run the job again, so that "
    "prompts are made to fit."
)

BYTES_PER_TOKEN = 2
"""A lower bound for usual tokenizers: English has about 4, other scripts 2 to 3."""
TEMPLATE_TOKENS_PER_MESSAGE = 64
REPLY_TOKENS = 1024
"""Room for a reply of unknown length."""
MIN_CONTEXT = 4096


class _Error(BaseModel):
    error: str


class _Server(ModelServer):
    """One path of a server at a URL such as `http://127.0.0.1:11434`. Proxies of the environment are not used."""

    api = "Ollama"

    def __init__(self, url: str, path: str) -> None:
        super().__init__(url, path, client=httpx.AsyncClient(timeout=None, trust_env=False))
        self.url = server_name(url)

    async def look_up(self, model: str) -> ModelIdentity:
        """Raises LLMError when the server has no such model."""
        return await ollama_identity(self._client, self._base_url, model)

    def refusal(self, model: str, response: httpx.Response) -> LLMError:
        """The error of a reply with an error."""
        error = super().refusal(model, response)
        with suppress(ValidationError):
            error.detail = _Error.model_validate_json(response.content).error
        if response.status_code == httpx.codes.NOT_FOUND:
            message = (
                f"{self.url} has no model '{model}'. Fetch it with `ollama pull {model}`, or name one that "
                "`ollama list` shows."
            )
        elif is_too_long(error):
            message = (
                f"The prompt is longer than the context of model '{model}' at {self.url}, and nothing was cut. {LONGER}"
            )
        else:
            return error
        return LLMError(message, status=error.status, detail=error.detail)


def is_too_long(error: LLMError) -> bool:
    """Whether a server refused a text that is longer than the context of its model."""
    return error.status == httpx.codes.BAD_REQUEST and "context" in error.detail and "exceed" in error.detail


class _Message(BaseModel):
    content: str | None = None


class _Piece(BaseModel):
    """A whole reply, or a line of a stream."""

    message: _Message = _Message()
    done: bool = True
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    logprobs: list[ReportedToken] | None = None
    error: str | None = None
    """With which a stream ends instead of an end."""


class OllamaChat:
    """The port ChatModel over an Ollama server at a URL such as `http://127.0.0.1:11434`."""

    def __init__(self, url: str) -> None:
        self._server = _Server(url, "api/chat")
        self._contexts: dict[str, int] = {}

    async def identity(self, model: str) -> ModelIdentity:
        """See ChatModel. Requested once a minute."""
        return await self._server.identity(model)

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        """See ChatModel. `seconds` is the total waiting time; the call has the seed."""
        began = time.perf_counter()
        async with in_time(call.timeout_s):
            model = await self._server.identity(call.model)
            num_ctx = self._context(call, model.context_tokens)
            request = _request(call, num_ctx) | {"stream": on_text is not None}
            answer = await (self._whole(call, request) if on_text is None else self._streamed(call, request, on_text))
        if answer.message.content is None:
            raise LLMError(f"Model '{call.model}' at {self._server.url} answered without text.")
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
            tokens=signals_of(answer.logprobs) if call.top_logprobs else None,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()

    async def _whole(self, call: ChatCall, request: dict[str, Any]) -> _Piece:
        async with self._server.asking(call.model, request) as response:
            return self._server.parsed(_Piece, call.model, await response.aread())

    async def _streamed(self, call: ChatCall, request: dict[str, Any], on_text: OnText) -> _Piece:
        """The reply in pieces, as the server would have sent it whole."""
        text = ""
        logprobs: list[ReportedToken] = []
        async with self._server.asking(call.model, request) as response:
            async for line in response.aiter_lines():
                piece = self._server.parsed(_Piece, call.model, line)
                if piece.error is not None:
                    # The status of the reply was sent before: by then it is 200. The request itself was accepted.
                    raise LLMError(
                        f"{self._server.url} ended its reply for model '{call.model}' with an error.",
                        status=int(httpx.codes.INTERNAL_SERVER_ERROR),
                        detail=piece.error,
                    )
                logprobs += piece.logprobs or []
                if piece.message.content:
                    text += piece.message.content
                    on_text(piece.message.content)
                if piece.done:
                    return piece.model_copy(update={"message": _Message(content=text), "logprobs": logprobs})
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


def _request(call: ChatCall, num_ctx: int) -> dict[str, Any]:
    options: dict[str, Any] = {"temperature": call.temperature, "seed": call.seed, "num_ctx": num_ctx}
    if call.max_tokens is not None:
        options["num_predict"] = call.max_tokens
    request: dict[str, Any] = {
        "model": call.model,
        "messages": [message.model_dump() for message in call.messages],
        "options": options,
        "truncate": False,
        "shift": False,
    }
    if call.json_schema is not None or call.json_mode:
        request["format"] = "json" if call.json_schema is None else call.json_schema
    if call.top_logprobs:
        request |= {"logprobs": True, "top_logprobs": call.top_logprobs}
    return request


class _Embeddings(BaseModel):
    embeddings: list[list[float]]


class OllamaEmbedder:
    """The port Embedder over an Ollama server at a URL such as `http://127.0.0.1:11434`."""

    def __init__(self, name: str, *, url: str) -> None:
        self._name = name
        self._server = _Server(url, "api/embed")

    @property
    def name(self) -> str:
        """See Embedder."""
        return self._name

    async def digest(self) -> str:
        """See Embedder. Requested once, then cached. Raises LLMError when the server has no such model."""
        return (await self._server.identity(self._name)).digest

    async def dtype(self) -> str:
        """See Embedder. Raises LLMError when the server has no such model."""
        return (await self._server.identity(self._name)).quantization or ""

    async def embed_batch(self, texts: Sequence[str], *, timeout_s: float, truncate: bool) -> TextVectors:
        """See Embedder. Raises LLMError when the server answers with an error.

        A server does not report which of several texts is too long: then each has a request of its own.
        """
        if not texts:
            return TextVectors(np.zeros((0, 0), dtype=np.float32))
        cut: list[int] = []
        async with in_time(timeout_s):
            rows = await self._whole(texts)
            if rows is None:
                rows = []
                for position, text in enumerate(texts):
                    whole = await self._whole([text])
                    if whole is None:
                        if not truncate:
                            raise TextTooLongError(self._name, position, texts=len(texts), chars=len(text))
                        cut.append(position)
                        whole = await self._rows([text], truncate=True)
                    rows += whole
        return TextVectors(matrix_of(rows, model=self._name, texts=len(texts)), tuple(cut))

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()

    async def _whole(self, texts: Sequence[str]) -> list[list[float]] | None:
        """The vectors of whole texts; None if one of them is too long."""
        try:
            return await self._rows(texts, truncate=False)
        except LLMError as error:
            if not is_too_long(error):
                raise
            return None

    async def _rows(self, texts: Sequence[str], *, truncate: bool) -> list[list[float]]:
        body = {"model": self._name, "input": list(texts), "truncate": truncate}
        async with self._server.asking(self._name, body) as response:
            content = await response.aread()
        return self._server.parsed(_Embeddings, self._name, content).embeddings
