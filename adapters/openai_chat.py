"""A language model behind an OpenAI-compatible server such as vLLM or llama-server."""

import asyncio
import time
from typing import Any

import httpx
from pydantic import BaseModel, Field, ValidationError

from adapters.model_lists import LOOKUP_TIMEOUT_S, LOOKUP_VALID_S, OpenAIModelList, server_name
from adapters.token_logprobs import ReportedToken, signals_of
from schemas.errors import LLMError, LLMTimeoutError
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity


class OpenAIChat:
    """The port ChatModel over a base URL that ends in the version, such as `http://127.0.0.1:8000/v1`."""

    def __init__(self, base_url: str, *, api_key: str | None = None) -> None:
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._shown_url = f"{server_name(base_url)}/chat/completions"
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.AsyncClient(headers=headers, timeout=None)
        self._models = OpenAIModelList(self._client, base_url)
        self._identities: dict[str, tuple[float, ModelIdentity]] = {}

    async def identity(self, model: str) -> ModelIdentity:
        """See ChatModel. Requested once a minute; a key that may not read the list has no entry."""
        asked_at, found = self._identities.get(model, (0.0, None))
        if found is None or time.monotonic() - asked_at > LOOKUP_VALID_S:
            try:
                async with asyncio.timeout(LOOKUP_TIMEOUT_S):
                    found = await self._models.identity(model)
            except TimeoutError:
                raise LLMTimeoutError(LOOKUP_TIMEOUT_S) from None
            except LLMError as error:
                if error.status not in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
                    raise
                found = self._models.unlisted(model)
            self._identities[model] = time.monotonic(), found
        return found

    async def chat(self, call: ChatCall) -> ChatReply:
        """See ChatModel. `seconds` is the total waiting time; the call has the seed.

        LLMError has the HTTP status: 429 and 5xx are faults that may be temporary.
        """
        began = time.perf_counter()
        try:
            async with asyncio.timeout(call.timeout_s):
                response = await self._client.post(self._url, json=_request(call))
        except TimeoutError:
            raise LLMTimeoutError(call.timeout_s) from None
        if response.is_error:
            raise LLMError(
                f"{self._shown_url} answered a request for model '{call.model}' with status {response.status_code}.",
                status=response.status_code,
                detail=response.text,
            )
        try:
            completion = _Completion.model_validate_json(response.content)
        except ValidationError as error:
            raise LLMError(
                f"{self._shown_url} answered a request for model '{call.model}' with something other than a chat "
                f"completion: {_where(error)}. Does the base URL name an OpenAI-compatible API?"
            ) from None
        choice = completion.choices[0]
        if choice.message.content is None:
            raise LLMError(
                f"Model '{call.model}' at {self._shown_url} answered without text "
                f"(finish_reason '{choice.finish_reason}')."
            )
        return ChatReply(
            text=choice.message.content,
            model=call.model,
            digest="",
            stop_reason=choice.finish_reason or "",
            prompt_tokens=completion.usage.prompt_tokens,
            reply_tokens=completion.usage.completion_tokens,
            seconds=time.perf_counter() - began,
            tokens=signals_of(choice.logprobs.content) if call.top_logprobs and choice.logprobs else None,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


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


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage = _Usage()


def _request(call: ChatCall) -> dict[str, Any]:
    request: dict[str, Any] = {
        "model": call.model,
        "messages": [message.model_dump() for message in call.messages],
        "temperature": call.temperature,
        "seed": call.seed,
        "stream": False,
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


def _where(error: ValidationError) -> str:
    """The invalid fields, without their values, which may be a reply."""
    found = error.errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, item['loc'])) or 'body'} is wrong ({item['type']})" for item in found)
