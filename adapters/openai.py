"""Language models and embedders behind an OpenAI-compatible server such as vLLM or llama.cpp."""

import math
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any, Final, TypeVar

import httpx
import numpy as np
from pydantic import BaseModel, Field, ValidationError

from adapters.logprobs import ReportedToken, signals_of
from adapters.model_lists import ModelServer, matrix_of, openai_identity, status_error, time_limit, unlisted
from schemas.errors import EmbeddingValidationError, LLMError, TextTooLongError
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from stages.models import naming_server, server_name
from stages.ports import OnText, TextVectors

Reply = TypeVar("Reply", bound=BaseModel)


class OpenAIServer(ModelServer):
    """One path of a server whose base URL ends in the version, such as `http://127.0.0.1:8000/v1`."""

    def __init__(self, base_url: str, path: str, *, api_key: str | None) -> None:
        super().__init__()
        self._base_url = base_url
        self._url = f"{base_url.rstrip('/')}/{path}"
        self._shown_url = f"{server_name(base_url)}/{path}"
        """As people and logs may see it."""
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.AsyncClient(headers=headers, timeout=None)

    async def close(self) -> None:
        await self._client.aclose()

    async def _look_up(self, model: str) -> ModelIdentity:
        """A key that may not read the list has no entry."""
        try:
            with naming_server(self._base_url):
                return await openai_identity(self._client, self._base_url, model)
        except LLMError as error:
            if error.status not in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
                raise
            return unlisted(self._base_url, model)

    @asynccontextmanager
    async def _asking(self, model: str, body: dict[str, Any]) -> AsyncIterator[httpx.Response]:
        """The reply to a request about a model, whose content is still to be read. Raises LLMError with the HTTP status
        for an error: 429 and 5xx are faults that may be temporary."""
        with naming_server(self._base_url):
            async with self._client.stream("POST", self._url, json=body) as response:
                if response.is_error:
                    await response.aread()
                    raise status_error(self._url, model, response)
                yield response

    def _failure(self, model: str, detail: str) -> LLMError:
        return LLMError(f"{self._shown_url} answered a request for model '{model}' with an error.", detail=detail)

    def _parsed(self, kind: type[Reply], model: str, content: bytes | str, *, expected: str) -> Reply:
        """The content of a reply. Raises LLMError for anything but what is `expected`, without quoting it."""
        try:
            return kind.model_validate_json(content)
        except ValidationError as error:
            raise LLMError(
                f"{self._shown_url} answered a request for model '{model}' with something other than {expected}: "
                f"{_where(error)}. Does the base URL name an OpenAI-compatible API?"
            ) from None


def _where(error: ValidationError) -> str:
    """The invalid fields, without their values, which may be a reply."""
    found = error.errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, item['loc'])) or 'body'} is wrong ({item['type']})" for item in found)


_EXPECTED = "a chat completion"


class OpenAIChat(OpenAIServer):
    """The port ChatModel over an OpenAI-compatible server."""

    def __init__(self, base_url: str, *, api_key: str | None = None) -> None:
        super().__init__(base_url, "chat/completions", api_key=api_key)

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        """See ChatModel. `seconds` is the total waiting time; the call has the seed."""
        began = time.perf_counter()
        async with time_limit(call.timeout_s):
            completion = await self._complete(call, on_text)
        return completion.reply_to(call, self._shown_url, seconds=time.perf_counter() - began)

    async def _complete(self, call: ChatCall, on_text: OnText | None) -> "Completion":
        """The reply, also one in pieces as the completion that the server would have sent whole."""
        request = chat_request(call) | {"stream": on_text is not None}
        if on_text is not None:
            request["stream_options"] = {"include_usage": True}
        texts: list[str] = []
        tokens: list[ReportedToken] = []
        usage, finish_reason = _Usage(), None
        async with self._asking(call.model, request) as response:
            is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
            if on_text is None or not is_stream:
                return self._parsed(Completion, call.model, await response.aread(), expected=_EXPECTED)
            async for line in response.aiter_lines():
                data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
                if data == "[DONE]":
                    break
                if not data:
                    continue
                chunk = self._parsed(_Chunk, call.model, data, expected=_EXPECTED)
                if chunk.error is not None:
                    raise self._failure(call.model, data)
                usage = chunk.usage or usage
                for choice in chunk.choices[:1]:
                    finish_reason = choice.finish_reason or finish_reason
                    tokens += (choice.logprobs and choice.logprobs.content) or []
                    if choice.delta.content is not None:
                        texts.append(choice.delta.content)
                    if choice.delta.content:
                        on_text(choice.delta.content)
        if finish_reason is None:
            raise httpx.RemoteProtocolError("The stream ended before the reply did.")
        message = _Message(content="".join(texts) if texts else None)
        whole = _Choice(message=message, logprobs=_Logprobs(content=tokens), finish_reason=finish_reason)
        return Completion(choices=[whole], usage=usage)


class _Message(BaseModel):
    content: str | None = None


class _Logprobs(BaseModel):
    content: list[ReportedToken] | None = None


class _Choice(BaseModel):
    message: _Message
    logprobs: _Logprobs | None = None
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Completion(BaseModel):
    """The answer to a chat call."""

    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage = _Usage()

    def reply_to(self, call: ChatCall, url: str, *, seconds: float) -> ChatReply:
        """The reply to a call. Raises LLMError for an answer without text."""
        choice = self.choices[0]
        if choice.message.content is None:
            raise LLMError(
                f"Model '{call.model}' at {url} answered without text (finish_reason '{choice.finish_reason}')."
            )
        return ChatReply(
            text=choice.message.content,
            model=call.model,
            digest="",
            stop_reason=choice.finish_reason or "",
            prompt_tokens=self.usage.prompt_tokens,
            reply_tokens=self.usage.completion_tokens,
            seconds=seconds,
            tokens=signals_of(choice.logprobs.content) if call.top_logprobs and choice.logprobs else None,
        )


class _Delta(BaseModel):
    delta: _Message = _Message()
    logprobs: _Logprobs | None = None
    finish_reason: str | None = None


class _Chunk(BaseModel):
    choices: list[_Delta] = []
    usage: _Usage | None = None
    """In a chunk of its own, which has no choice."""
    error: Any = None


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


# The API of embeddings has no field that forbids cutting. Most servers refuse a text that is longer than the model
# reads; others cut it and still answer 200. Before the first text that could be cut, a very long one shows which a
# server does: one that answers it reads as many tokens as it reports, and a text of that many tokens counts as cut.

#: Texts of one request: as many as every server takes unless it is told otherwise.
TEXTS_PER_REQUEST: Final = 32
#: No model reads less than this, and no token is shorter than a byte: shorter texts are never cut.
SHORTEST_CONTEXT: Final = 128
PROBE_TOKENS: Final = 100_000
#: The start of a text that is kept is at most this part shorter than the longest one that the server takes.
PRECISION: Final = 1 / 8

_TOO_LONG_STATUSES: Final = frozenset({400, 413, 422, 500})
_TOO_LONG: Final = re.compile(r"context|too (long|large)|exceed|maximum|must have less than", re.IGNORECASE)


class _Row(BaseModel):
    index: int
    embedding: list[float]


class _Embeddings(BaseModel):
    data: list[_Row]
    """In the order of the texts."""
    usage: _Usage = _Usage()

    @property
    def tokens(self) -> int | None:
        """Of all texts together, as far as the server read them; None if it does not report it."""
        return self.usage.prompt_tokens


class OpenAIEmbedder(OpenAIServer):
    """The port Embedder over an OpenAI-compatible server."""

    def __init__(self, name: str, *, base_url: str, api_key: str | None = None) -> None:
        super().__init__(base_url, "embeddings", api_key=api_key)
        self.name = name
        self._is_probed = False
        self._cuts_at: int | None = None

    async def digest(self) -> str:
        """See Embedder. A hash of the model's entry in the server's list of models; empty without a list."""
        found = await self.identity(self.name)
        return sha256(found.weights["listed"].encode()).hexdigest() if found.listed else ""

    async def dtype(self) -> str:
        """See Embedder. This API reports none."""
        return ""

    async def embed_batch(self, texts: Sequence[str], *, timeout_s: float, truncate: bool) -> TextVectors:
        """See Embedder. Raises LLMError when the server answers with an error; `timeout_s` holds for all requests."""
        if not texts:
            return TextVectors(np.zeros((0, 0), dtype=np.float32))
        async with time_limit(timeout_s):
            rows, cut = await self._embed(texts, truncate=truncate)
        return TextVectors(matrix_of(rows, model=self.name, texts=len(texts)), tuple(cut))

    async def _embed(self, texts: Sequence[str], *, truncate: bool) -> tuple[list[list[float]], list[int]]:
        sizes = [len(text.encode(errors="replace")) for text in texts]
        if max(sizes) >= SHORTEST_CONTEXT:
            await self._probe()
        longest = math.inf if self._cuts_at is None else self._cuts_at
        together = [at for at, size in enumerate(sizes) if size < longest]
        # How much a server read of each of several texts it does not report, nor which of them is too long.
        alone = [at for at, size in enumerate(sizes) if size >= longest]
        rows: dict[int, list[float]] = {}
        for start in range(0, len(together), TEXTS_PER_REQUEST):
            group = together[start : start + TEXTS_PER_REQUEST]
            embedded = await self._whole([texts[at] for at in group])
            if embedded is None:
                alone += group
            else:
                rows.update((at, row.embedding) for at, row in zip(group, embedded.data, strict=True))
        cut: list[int] = []
        for at in sorted(alone):
            embedded = await self._whole([texts[at]])
            if embedded is None or (embedded.tokens or 0) >= longest:
                if not truncate:
                    raise TextTooLongError(self.name, at, texts=len(texts), chars=len(texts[at]))
                cut.append(at)
            rows[at] = (embedded or await self._start_of(texts[at])).data[0].embedding
        return [rows[at] for at in range(len(texts))], cut

    async def _whole(self, texts: Sequence[str]) -> _Embeddings | None:
        """The vectors of texts; None if the server refuses one of them as too long."""
        try:
            return await self._ask(texts)
        except LLMError as error:
            if error.status in _TOO_LONG_STATUSES and _TOO_LONG.search(error.detail):
                return None
            raise

    async def _start_of(self, text: str) -> _Embeddings:
        """The vector of about the longest start that the server takes, which depends on nothing after it."""
        kept, found, step = 0, None, 1 << len(text).bit_length() - 1
        while step > kept * PRECISION:
            if kept + step < len(text) and (longer := await self._whole([text[: kept + step]])) is not None:
                kept, found = kept + step, longer
            step //= 2
        if found is None:
            raise self._failure(self.name, "It refuses a text of one character as too long.")
        return found

    async def _probe(self) -> None:
        """Find out once whether the server cuts long texts, and at how many tokens."""
        if self._is_probed:
            return
        try:
            tokens = (await self._ask(["a " * PROBE_TOKENS])).tokens
        except LLMError as error:
            if error.status not in _TOO_LONG_STATUSES:
                raise
        else:
            if not tokens:
                raise LLMError(
                    f"{self._shown_url} takes a text of {PROBE_TOKENS} words for model '{self.name}' and does not "
                    "report how many tokens it read, so a text that it cut would go unnoticed. Start the server so "
                    "that it refuses long texts (text-embeddings-inference: --auto-truncate false)."
                )
            self._cuts_at = tokens if tokens < PROBE_TOKENS else None
        self._is_probed = True

    async def _ask(self, texts: Sequence[str]) -> _Embeddings:
        body = {"model": self.name, "input": list(texts), "encoding_format": "float"}
        async with self._asking(self.name, body) as response:
            content = await response.aread()
        reply = self._parsed(_Embeddings, self.name, content, expected="embeddings")
        reply.data.sort(key=lambda row: row.index)
        if [row.index for row in reply.data] != list(range(len(texts))):
            raise EmbeddingValidationError(
                f"{self.name} returned {len(reply.data)} vectors for {len(texts)} texts, or not one for each."
            )
        return reply
