"""Language models and embedders behind an OpenAI-compatible server such as vLLM or llama.cpp."""

import time
from typing import Any

import httpx
from pydantic import BaseModel, Field

from adapters.logprobs import ReportedToken, signals_of
from adapters.model_lists import openai_identity, unlisted
from adapters.model_server import ModelServer, in_time
from schemas.errors import LLMError
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from stages.ports import OnText


class OpenAIServer(ModelServer):
    """One path of a server whose base URL ends in the version, such as `http://127.0.0.1:8000/v1`."""

    api = "OpenAI"

    def __init__(self, base_url: str, path: str, *, api_key: str | None) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        super().__init__(base_url, path, client=httpx.AsyncClient(headers=headers, timeout=None))

    async def look_up(self, model: str) -> ModelIdentity:
        """A key that may not read the list has no entry."""
        try:
            return await openai_identity(self._client, self._base_url, model)
        except LLMError as error:
            if error.status not in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
                raise
            return unlisted(self._base_url, model)


class OpenAIChat:
    """The port ChatModel over a base URL that ends in the version, such as `http://127.0.0.1:8000/v1`."""

    def __init__(self, base_url: str, *, api_key: str | None = None) -> None:
        self._server = OpenAIServer(base_url, "chat/completions", api_key=api_key)

    async def identity(self, model: str) -> ModelIdentity:
        """See ChatModel. Requested once a minute; a key that may not read the list has no entry."""
        return await self._server.identity(model)

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        """See ChatModel. `seconds` is the total waiting time; the call has the seed.

        LLMError has the HTTP status: 429 and 5xx are faults that may be temporary.
        """
        began = time.perf_counter()
        async with in_time(call.timeout_s):
            completion = await (self._whole(call) if on_text is None else self._streamed(call, on_text))
        return completion.reply_to(call, self._server.url, seconds=time.perf_counter() - began)

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()

    async def _whole(self, call: ChatCall) -> "Completion":
        async with self._server.asking(call.model, chat_request(call) | {"stream": False}) as response:
            return self._server.parsed(Completion, call.model, await response.aread())

    async def _streamed(self, call: ChatCall, on_text: OnText) -> "Completion":
        request = chat_request(call) | {"stream": True, "stream_options": {"include_usage": True}}
        async with self._server.asking(call.model, request) as response:
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                return self._server.parsed(Completion, call.model, await response.aread())
            reply = _Pieces(on_text)
            async for line in response.aiter_lines():
                data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
                if data == "[DONE]":
                    break
                if data:
                    chunk = self._server.parsed(_Chunk, call.model, data)
                    if chunk.error is not None:
                        raise LLMError(
                            f"{self._server.url} ended its reply for model '{call.model}' with an error.", detail=data
                        )
                    reply.add(chunk)
        if reply.finish_reason is None:
            raise httpx.RemoteProtocolError("The stream ended before the reply did.")
        return reply.completion()


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
    error: Any = None


class _Pieces:
    """A reply that arrives in chunks, as the completion that the server would have sent without a stream."""

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self._texts: list[str] = []
        self._tokens: list[ReportedToken] = []
        self._usage = _Usage()
        self.finish_reason: str | None = None

    def add(self, chunk: _Chunk) -> None:
        """The next chunk; the one with the usage has no choice."""
        self._usage = chunk.usage or self._usage
        for choice in chunk.choices[:1]:
            self.finish_reason = choice.finish_reason or self.finish_reason
            if choice.logprobs is not None:
                self._tokens += choice.logprobs.content or []
            if choice.delta.content is not None:
                self._texts.append(choice.delta.content)
            if choice.delta.content:
                self._on_text(choice.delta.content)

    def completion(self) -> Completion:
        """The whole reply; without any text its content is None."""
        message = _Message(content="".join(self._texts) if self._texts else None)
        logprobs = _Logprobs(content=self._tokens) if self._tokens else None
        choice = _Choice(message=message, logprobs=logprobs, finish_reason=self.finish_reason)
        return Completion(choices=[choice], usage=self._usage)


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
