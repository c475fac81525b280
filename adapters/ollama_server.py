"""An Ollama server: its client, the properties of its models, and the translation of its errors."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import httpx
import ollama
import pydantic

from adapters.model_lists import LOOKUP_TIMEOUT_S, LOOKUP_VALID_S, ollama_identity
from adapters.retry_after import retry_after_s
from schemas.errors import LLMError, LLMTimeoutError
from schemas.values.model_identities import ModelIdentity
from stages.server_names import naming_server

LONGER = (
    "Use a model with a longer context; or set RAGQ_CONTEXT_TOKENS to what it has and run the job again, so that "
    "prompts are made to fit."
)

#: What the client gives for the status of an error that is a line of a stream.
_IN_STREAM = -1


@dataclass(frozen=True, kw_only=True)
class OllamaModel:
    """The properties of a model that a server reports."""

    identity: ModelIdentity

    @property
    def context_length(self) -> int | None:
        """The maximum tokens of prompt and reply together; None if the server reports none."""
        return self.identity.context_tokens

    @property
    def digest(self) -> str:
        """Identifies the exact weights; empty if the server reports none."""
        return self.identity.digest


class OllamaServer:
    """One server at a URL such as `http://127.0.0.1:11434`. Proxies of the environment are not used."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client = ollama.AsyncClient(host=url, transport=_WholePrompts())
        self._lists = httpx.AsyncClient(timeout=None, trust_env=False)
        self._models: dict[str, tuple[float, OllamaModel]] = {}

    async def model(self, name: str) -> OllamaModel:
        """The properties of a model; requested once a minute.

        Raises LLMError when the server has no such model, LLMTimeoutError after 30 s.
        """
        asked_at, found = self._models.get(name, (0.0, None))
        if found is None or time.monotonic() - asked_at > LOOKUP_VALID_S:
            async with self.asking(name, timeout_s=LOOKUP_TIMEOUT_S):
                found = await self._look_up(name)
            self._models[name] = time.monotonic(), found
        return found

    @asynccontextmanager
    async def asking(self, model: str, *, timeout_s: float) -> AsyncIterator[None]:
        """Translate the errors of requests about a model in a block into those of the ports.

        The server's text is stored in `LLMError.detail`, never in a message: it may quote the prompt.
        """
        try:
            with naming_server(self.url):
                async with asyncio.timeout(timeout_s):
                    yield
        except TimeoutError:
            raise LLMTimeoutError(timeout_s) from None
        except ollama.ResponseError as error:
            raise self._refusal(model, error) from None
        except (json.JSONDecodeError, UnicodeDecodeError, pydantic.ValidationError) as error:
            raise LLMError(
                f"{self.url} answered a request for model '{model}' with something other than Ollama's JSON "
                f"({type(error).__name__}). Is it an Ollama server?"
            ) from None

    async def close(self) -> None:
        """Close the connections."""
        await self.client.close()  # type: ignore[no-untyped-call]
        await self._lists.aclose()

    async def _look_up(self, name: str) -> OllamaModel:
        try:
            return OllamaModel(identity=await ollama_identity(self._lists, self.url, name))
        except httpx.ConnectError as error:
            # As the client raises it for every other request.
            raise ConnectionError(str(error)) from None

    def _refusal(self, model: str, error: ollama.ResponseError) -> LLMError:
        if error.status_code == httpx.codes.NOT_FOUND:
            return self._unknown(model)
        said, status = str(error.error), error.status_code
        if status == _IN_STREAM:
            # The status of the reply was sent before: by then it is 200. The request itself was accepted.
            status = int(httpx.codes.INTERNAL_SERVER_ERROR)
            message = f"{self.url} ended its reply for model '{model}' with an error."
        elif is_too_long(error):
            message = (
                f"The prompt is longer than the context of model '{model}' at {self.url}, and nothing was cut. {LONGER}"
            )
        else:
            message = f"{self.url} answered a request for model '{model}' with status {status}."
        return LLMError(message, status=status, detail=said, retry_after_s=_retry_after_s.get())

    def _unknown(self, model: str) -> LLMError:
        return LLMError(
            f"{self.url} has no model '{model}'. Fetch it with `ollama pull {model}`, or name one that "
            "`ollama list` shows.",
            status=httpx.codes.NOT_FOUND,
        )


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
