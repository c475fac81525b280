"""An OpenAI-compatible server: its requests, the identity of its models, and the translation of its errors."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from adapters.model_lists import LOOKUP_TIMEOUT_S, LOOKUP_VALID_S, OpenAIModelList
from adapters.retry_after import retry_after_s
from schemas.errors import LLMError, LLMTimeoutError
from schemas.values.model_identities import ModelIdentity
from stages.server_names import naming_server, server_name

Reply = TypeVar("Reply", bound=BaseModel)


class OpenAIServer:
    """One path of a server whose base URL ends in the version, such as `http://127.0.0.1:8000/v1`."""

    def __init__(self, base_url: str, path: str, *, api_key: str | None) -> None:
        self._base_url = base_url
        self._url = f"{base_url.rstrip('/')}/{path}"
        self.url = f"{server_name(base_url)}/{path}"
        """As people and logs may see it."""
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.AsyncClient(headers=headers, timeout=None)
        self._models = OpenAIModelList(self._client, base_url)
        self._identities: dict[str, tuple[float, ModelIdentity]] = {}

    async def identity(self, model: str) -> ModelIdentity:
        """The model behind a name; requested once a minute. A key that may not read the list has no entry."""
        asked_at, found = self._identities.get(model, (0.0, None))
        if found is None or time.monotonic() - asked_at > LOOKUP_VALID_S:
            try:
                with naming_server(self._base_url):
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

    @asynccontextmanager
    async def asking(self, model: str, body: dict[str, Any]) -> AsyncIterator[httpx.Response]:
        """The reply to a request about a model, whose content is still to be read.

        Raises LLMError with the HTTP status for an error: 429 and 5xx are faults that may be temporary.
        """
        with naming_server(self._base_url):
            async with self._client.stream("POST", self._url, json=body) as response:
                if response.is_error:
                    await response.aread()
                    wait_s = retry_after_s(response)
                    raise self.failure(model, response.status_code, response.text, retry_after_s=wait_s)
                yield response

    def failure(self, model: str, status: int | None, detail: str, *, retry_after_s: float | None = None) -> LLMError:
        """The error of an answer with an error."""
        found = "an error" if status is None else f"status {status}"
        return LLMError(
            f"{self.url} answered a request for model '{model}' with {found}.",
            status=status,
            detail=detail,
            retry_after_s=retry_after_s,
        )

    def parsed(self, kind: type[Reply], model: str, content: bytes | str, *, expected: str) -> Reply:
        """The content of a reply. Raises LLMError for anything but what is `expected`, without quoting it."""
        try:
            return kind.model_validate_json(content)
        except ValidationError as error:
            raise LLMError(
                f"{self.url} answered a request for model '{model}' with something other than {expected}: "
                f"{_where(error)}. Does the base URL name an OpenAI-compatible API?"
            ) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _where(error: ValidationError) -> str:
    """The invalid fields, without their values, which may be a reply."""
    found = error.errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, item['loc'])) or 'body'} is wrong ({item['type']})" for item in found)
