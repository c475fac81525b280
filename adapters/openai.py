"""Language models and embedders behind an OpenAI-compatible server such as vLLM or llama.cpp."""

import math
import re
import time
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

import httpx
from pydantic import AliasChoices, AliasPath, BaseModel, Field

from adapters.logprobs import ReportedToken, signals_of
from adapters.model_servers import ModelServer, Rows, ServedEmbedder, openai_identity, time_limit, unlisted
from schemas.errors import EmbeddingValidationError, LLMError
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from stages.ports import OnText

#: Servers of this API refuse a text that is too long by these statuses, in words of their own.
_TOO_LONG_STATUSES: Final = frozenset({400, 413, 422, 500})
_TOO_LONG: Final = re.compile(r"context|too (long|large)|exceed|maximum|must have less than", re.IGNORECASE)


class OpenAIServer(ModelServer):
    """One server whose base URL ends in the version, such as `http://127.0.0.1:8000/v1`."""

    api = "OpenAI"

    def __init__(self, base_url: str, *, api_key: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        super().__init__(base_url, httpx.AsyncClient(headers=headers, timeout=None))

    async def _look_up(self, model: str) -> ModelIdentity:
        """A key that may not read the list has no entry."""
        try:
            return await openai_identity(self._client, self._url, model)
        except LLMError as error:
            if error.status not in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
                raise
            return unlisted(self._url, model)

    def is_too_long(self, error: LLMError) -> bool:
        return error.status in _TOO_LONG_STATUSES and _TOO_LONG.search(error.detail) is not None


class OpenAIChat(OpenAIServer):
    """The port ChatModel over an OpenAI-compatible server."""

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        """See ChatModel. `seconds` is the total waiting time; the call has the seed."""
        began = time.perf_counter()
        async with time_limit(call.timeout_s):
            completion = await self._complete(call, on_text)
        return completion.reply_to(call, self.shown_url, seconds=time.perf_counter() - began)

    async def _complete(self, call: ChatCall, on_text: OnText | None) -> "Piece":
        """The reply, also one in pieces as the server would have sent it whole."""
        request = chat_request(call) | {"stream": on_text is not None}
        if on_text is not None:
            request["stream_options"] = {"include_usage": True}
        pieces: list[Piece] = []
        async with self.asking("chat/completions", request) as response:
            is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
            if on_text is None or not is_stream:
                return self.parsed(Completion, call.model, await response.aread())
            async for line in response.aiter_lines():
                data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
                if data == "[DONE]":
                    break
                if not data:
                    continue
                piece = self.parsed(Piece, call.model, data)
                if piece.error is not None:
                    said = f"{self.shown_url} answered a request for model '{call.model}' with an error."
                    raise LLMError(said, detail=data)
                pieces.append(piece)
                if piece.text:
                    on_text(piece.text)
        return _joined(pieces)


class Piece(BaseModel):
    """A part of the answer to a chat call: of its first choice, where it has one."""

    text: str | None = Field(
        default=None,
        validation_alias=AliasChoices(
            AliasPath("choices", 0, "message", "content"), AliasPath("choices", 0, "delta", "content")
        ),
    )
    tokens: list[ReportedToken] | None = Field(
        default=None, validation_alias=AliasPath("choices", 0, "logprobs", "content")
    )
    finish_reason: str | None = Field(default=None, validation_alias=AliasPath("choices", 0, "finish_reason"))
    prompt_tokens: int | None = Field(default=None, validation_alias=AliasPath("usage", "prompt_tokens"))
    reply_tokens: int | None = Field(default=None, validation_alias=AliasPath("usage", "completion_tokens"))
    error: Any = None

    def reply_to(self, call: ChatCall, url: str, *, seconds: float) -> ChatReply:
        """The reply to a call. Raises LLMError for an answer without text."""
        if self.text is None:
            raise LLMError(
                f"Model '{call.model}' at {url} answered without text (finish_reason '{self.finish_reason}')."
            )
        return ChatReply(
            text=self.text,
            model=call.model,
            digest="",
            stop_reason=self.finish_reason or "",
            prompt_tokens=self.prompt_tokens,
            reply_tokens=self.reply_tokens,
            seconds=seconds,
            tokens=signals_of(self.tokens) if call.top_logprobs else None,
        )


class Completion(Piece):
    """A whole answer."""

    choices: list[Any] = Field(min_length=1)


def _joined(pieces: Sequence[Piece]) -> Piece:
    def last(name: str) -> Any:
        return next((found for piece in reversed(pieces) if (found := getattr(piece, name)) is not None), None)

    if last("finish_reason") is None:
        raise httpx.RemoteProtocolError("The stream ended before the reply did.")
    texts = [piece.text for piece in pieces if piece.text is not None]
    return Piece.model_construct(
        text="".join(texts) if texts else None,
        tokens=[token for piece in pieces for token in piece.tokens or ()],
        **{name: last(name) for name in ("finish_reason", "prompt_tokens", "reply_tokens")},
    )


def chat_request(call: ChatCall) -> dict[str, Any]:
    """The body of a chat call."""
    request: dict[str, Any] = {
        "model": call.model,
        "messages": [message.model_dump() for message in call.messages],
        "temperature": call.temperature,
        "seed": call.seed,
    }
    if call.max_tokens is not None:
        request["max_tokens"] = call.max_tokens
    if call.top_logprobs:
        request |= {"logprobs": True, "top_logprobs": call.top_logprobs}
    if call.json_schema is not None:
        schema = {"name": "reply", "schema": call.json_schema, "strict": True}
        request["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif call.json_mode:
        request["response_format"] = {"type": "json_object"}
    return request


#: No model reads less than this, and no token is shorter than a byte: shorter texts are never cut.
SHORTEST_CONTEXT: Final = 128
PROBE_TOKENS: Final = 100_000
#: The start of a text that is kept is at most this part shorter than the longest one that the server takes.
PRECISION: Final = 1 / 8


class _Row(BaseModel):
    index: int
    embedding: list[float]


class _Embeddings(BaseModel):
    data: list[_Row]
    tokens: int | None = Field(default=None, validation_alias=AliasPath("usage", "prompt_tokens"))


class OpenAIEmbedder(ServedEmbedder):
    """The port Embedder over an OpenAI-compatible server.

    The API of embeddings has no field that forbids cutting. Most servers refuse a text that is longer than the model
    reads; others cut it and still answer 200. Before the first text that could be cut, a very long one shows which a
    server does: one that answers it reads as many tokens as it reports, and a text of that many tokens counts as cut.
    """

    def __init__(self, name: str, *, base_url: str, api_key: str | None = None) -> None:
        super().__init__(name, OpenAIServer(base_url, api_key=api_key))
        self._is_probed = False

    async def digest(self) -> str:
        """See Embedder. A hash of the model's entry in the server's list of models; empty without a list."""
        found = await self.server.identity(self.name)
        return sha256(found.weights["listed"].encode()).hexdigest() if found.listed else ""

    async def _prepare(self, longest: int) -> None:
        """Find out once whether the server cuts long texts, and at how many tokens."""
        if self._is_probed or longest < SHORTEST_CONTEXT:
            return
        try:
            _, tokens = await self._rows(["a " * PROBE_TOKENS])
        except LLMError as error:
            if error.status not in _TOO_LONG_STATUSES:
                raise
        else:
            if not tokens:
                raise LLMError(
                    f"{self.server.shown_url} takes a text of {PROBE_TOKENS} words for model '{self.name}' and does "
                    "not report how many tokens it read, so a text that it cut would go unnoticed. Start the server so "
                    "that it refuses long texts (text-embeddings-inference: --auto-truncate false)."
                )
            self.cuts_at = tokens if tokens < PROBE_TOKENS else math.inf
        self._is_probed = True

    async def _rows(self, texts: Sequence[str]) -> Rows:
        body = {"model": self.name, "input": list(texts), "encoding_format": "float"}
        async with self.server.asking("embeddings", body) as response:
            reply = self.server.parsed(_Embeddings, self.name, await response.aread())
        rows = {row.index: row.embedding for row in reply.data}
        if sorted(row.index for row in reply.data) != list(range(len(texts))):
            raise EmbeddingValidationError(
                f"{self.name} returned {len(reply.data)} vectors for {len(texts)} texts, or not one for each."
            )
        return [rows[at] for at in range(len(texts))], reply.tokens

    async def _start_of(self, text: str) -> Rows:
        """About the longest start that the server takes, so that it depends on nothing after it."""
        kept, found, step = 0, None, 1 << len(text).bit_length() - 1
        while step > kept * PRECISION:
            if kept + step < len(text) and (longer := await self._whole([text[: kept + step]])) is not None:
                kept, found = kept + step, longer
            step //= 2
        if found is None:
            raise LLMError(
                f"{self.server.shown_url} refuses a text of one character for model '{self.name}' as too long."
            )
        return found
