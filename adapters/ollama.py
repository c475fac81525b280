"""Language models and embedders behind an Ollama server."""

import time
from collections.abc import Sequence
from typing import Any

import httpx
from pydantic import BaseModel

from adapters.logprobs import ReportedToken, signals_of
from adapters.model_servers import ModelServer, Rows, ServedEmbedder, is_too_long, ollama_identity, time_limit
from schemas.errors import LLMError
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
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

    async def _look_up(self, model: str) -> ModelIdentity:
        return await ollama_identity(self._client, self._url, model)


class _Message(BaseModel):
    content: str | None = None


class _Piece(BaseModel):
    """A reply, or a line of a stream: a piece of one, or an error."""

    message: _Message = _Message()
    logprobs: list[ReportedToken] | None = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    error: str | None = None


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
        async with time_limit(call.timeout_s):
            model = await self.identity(call.model)
            num_ctx = self._context(call, model.context_tokens)
            answer = await self._answer(chat_request(call, num_ctx, stream=on_text is not None), on_text)
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
            tokens=signals_of(answer.logprobs) if call.top_logprobs else None,
        )

    async def _answer(self, request: dict[str, Any], on_text: OnText | None) -> _Piece:
        """The reply, also one in pieces as the server would have sent it whole."""
        model, texts = request["model"], list[str]()
        logprobs: list[ReportedToken] = []
        try:
            async with self.asking("api/chat", request) as response:
                async for line in response.aiter_lines():
                    piece = self.parsed(_Piece, model, line)
                    if piece.error is not None:
                        # The status of the reply was sent before: by then it is 200. The request itself was accepted.
                        said = f"{self.shown_url} ended its reply for model '{model}' with an error."
                        raise LLMError(said, status=httpx.codes.INTERNAL_SERVER_ERROR, detail=piece.error)
                    logprobs += piece.logprobs or []
                    if piece.message.content is not None:
                        texts.append(piece.message.content)
                    if on_text is not None and piece.message.content:
                        on_text(piece.message.content)
                    if piece.done or on_text is None:
                        message = _Message(content="".join(texts) if texts else None)
                        return piece.model_copy(update={"message": message, "logprobs": logprobs})
        except LLMError as error:
            if error.status != httpx.codes.BAD_REQUEST or not is_too_long(error):
                raise
            where = f"the context of model '{model}' at {self.shown_url}"
            said = f"The prompt is longer than {where}, and nothing was cut. {LONGER}"
            raise LLMError(said, status=error.status, detail=error.detail) from None
        raise httpx.RemoteProtocolError("The stream ended before the reply did.")

    def _context(self, call: ChatCall, longest: int | None) -> int:
        """The context of a model, which never shrinks: the server reloads a model for every other size."""
        needed = max(context_tokens(call), self._contexts.get(call.model, 0))
        self._contexts[call.model] = needed if longest is None else min(needed, longest)
        return self._contexts[call.model]


def chat_request(call: ChatCall, num_ctx: int, *, stream: bool) -> dict[str, Any]:
    """The body of a chat call."""
    options = {"temperature": call.temperature, "seed": call.seed, "num_ctx": num_ctx}
    request: dict[str, Any] = {
        "model": call.model,
        "messages": [message.model_dump() for message in call.messages],
        "stream": stream,
        "options": options if call.max_tokens is None else {**options, "num_predict": call.max_tokens},
        "truncate": False,
        "shift": False,
    }
    if call.json_schema is not None or call.json_mode:
        request["format"] = call.json_schema or "json"
    if call.top_logprobs:
        request |= {"logprobs": True, "top_logprobs": call.top_logprobs}
    return request


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


class _Embeddings(BaseModel):
    embeddings: list[list[float]]


class OllamaEmbedder(ServedEmbedder):
    """The port Embedder over an Ollama server. By default, it cuts a text that is longer than the context and still
    answers 200; with `truncate: false` it refuses it."""

    def __init__(self, name: str, *, url: str) -> None:
        super().__init__(name, OllamaServer(url))

    async def _prepare(self, longest: int) -> None:
        """An unknown model is named."""
        await self.server.identity(self.name)

    async def _rows(self, texts: Sequence[str], *, truncate: bool = False) -> Rows:
        body = {"model": self.name, "input": list(texts), "truncate": truncate}
        return (await self.server.ask("api/embed", body, _Embeddings)).embeddings, None

    async def _start_of(self, text: str) -> Rows:
        return await self._rows([text], truncate=True)
