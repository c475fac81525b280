"""A language model behind Ollama's chat API.

By default, Ollama cuts a prompt that is longer than the context and still answers 200. Three measures prevent this
here. The requested context is a generous estimate (`context_tokens`). Every request has `truncate: false` and
`shift: false`, with which the server refuses a prompt that does not fit. And a reply whose prompt filled the whole
context is an error, for servers that ignore these fields.
"""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

import httpx
from ollama import ChatResponse
from ollama._types import Logprob

from adapters.ollama_server import LONGER, OllamaServer
from adapters.token_logprobs import signals_of
from schemas.errors import LLMError
from schemas.values.chat import ChatCall, ChatReply
from schemas.values.model_identities import ModelIdentity
from stages.ports import OnText

BYTES_PER_TOKEN = 2
"""A lower bound for usual tokenizers: English has about 4, other scripts 2 to 3."""
TEMPLATE_TOKENS_PER_MESSAGE = 64
REPLY_TOKENS = 1024
"""Room for a reply of unknown length."""
MIN_CONTEXT = 4096


class OllamaChat:
    """The port ChatModel over an Ollama server at a URL such as `http://127.0.0.1:11434`."""

    def __init__(self, url: str) -> None:
        self._server = OllamaServer(url)
        self._contexts: dict[str, int] = {}

    async def identity(self, model: str) -> ModelIdentity:
        """See ChatModel. Requested once a minute."""
        return (await self._server.model(model)).identity

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        """See ChatModel. `seconds` is the total waiting time; the call has the seed."""
        began = time.perf_counter()
        async with self._server.asking(call.model, timeout_s=call.timeout_s):
            model = await self._server.model(call.model)
            num_ctx = self._context(call, model.context_length)
            request: dict[str, Any] = {
                "model": call.model,
                "messages": [message.model_dump() for message in call.messages],
                "format": call.json_schema if call.json_schema is not None else "json" if call.json_mode else None,
                "options": _options(call, num_ctx),
                "logprobs": True if call.top_logprobs else None,
                "top_logprobs": call.top_logprobs or None,
            }
            if on_text is None:
                answer = await self._server.client.chat(**request)
            else:
                answer = await self._streamed(request, on_text)
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

    async def _streamed(self, request: dict[str, Any], on_text: OnText) -> ChatResponse:
        """The reply in pieces, as the server would have sent it whole."""
        text = ""
        logprobs: list[Logprob] = []
        pieces = await self._server.client.chat(**request, stream=True)
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


def _options(call: ChatCall, num_ctx: int) -> dict[str, Any]:
    options: dict[str, Any] = {"temperature": call.temperature, "seed": call.seed, "num_ctx": num_ctx}
    if call.max_tokens is not None:
        options["num_predict"] = call.max_tokens
    return options
