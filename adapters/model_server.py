"""One path of a server of models over HTTP, and what it reports of them: what Ollama's and OpenAI's APIs share."""

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar, Final, TypeVar

import httpx
import numpy as np
from pydantic import BaseModel, ValidationError

from schemas.errors import EmbeddingValidationError, LLMError, LLMTimeoutError
from schemas.values.chat import ModelIdentity
from stages.models import naming_server, server_name
from stages.ports import Vectors

LONGEST_S: Final = 3600.0
"""A server is asked again after this time in any case."""
LOOKUP_TIMEOUT_S = 30.0
LOOKUP_VALID_S = 60.0
"""After this time a model is looked up again: another may be served under its name."""

Reply = TypeVar("Reply", bound=BaseModel)


@asynccontextmanager
async def in_time(timeout_s: float) -> AsyncIterator[None]:
    """A block that may take so long. Raises LLMTimeoutError when it takes longer."""
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError:
        raise LLMTimeoutError(timeout_s) from None


class ModelServer(ABC):
    """One path of a server, whose text is kept in `LLMError.detail` and never in a message: it may quote a prompt."""

    api: ClassVar[str]
    """Whose API it should have."""

    def __init__(self, base_url: str, path: str, *, client: httpx.AsyncClient) -> None:
        self._base_url = base_url
        self._url = f"{base_url.rstrip('/')}/{path}"
        self._client = client
        self._identities: dict[str, tuple[float, ModelIdentity]] = {}
        self.url = f"{server_name(base_url)}/{path}"
        """As people and logs may see it."""

    @abstractmethod
    async def look_up(self, model: str) -> ModelIdentity:
        """The model behind a name, as the server reports it now."""

    async def identity(self, model: str) -> ModelIdentity:
        """The model behind a name; requested once a minute. Raises LLMTimeoutError after 30 s."""
        asked_at, found = self._identities.get(model, (0.0, None))
        if found is None or time.monotonic() - asked_at > LOOKUP_VALID_S:
            async with in_time(LOOKUP_TIMEOUT_S):
                with naming_server(self._base_url):
                    found = await self.look_up(model)
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
                    raise self.refusal(model, response)
                yield response

    def refusal(self, model: str, response: httpx.Response) -> LLMError:
        """The error of a reply with an error."""
        return status_error(self.url, model, response)

    def parsed(self, kind: type[Reply], model: str, content: bytes | str) -> Reply:
        """The content of a reply. Raises LLMError, without quoting it, for anything but what the API gives."""
        try:
            return kind.model_validate_json(content)
        except ValidationError as error:
            raise unlike(self.url, model, self.api, error) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def status_error(url: str, model: str, response: httpx.Response) -> LLMError:
    """The error of a reply with an error."""
    return LLMError(
        f"{url} answered a request for model '{model}' with status {response.status_code}.",
        status=response.status_code,
        detail=response.text,
        retry_after_s=retry_after_s(response),
    )


def unlike(url: str, model: str, api: str, error: ValidationError) -> LLMError:
    """The error of a reply of another shape. The fields that are wrong are named without their values."""
    found = error.errors(include_input=False, include_url=False, include_context=False)
    where = "; ".join(f"{'.'.join(map(str, item['loc'])) or 'body'} is wrong ({item['type']})" for item in found)
    return LLMError(
        f"{url} answered a request for model '{model}' with something other than {api}'s JSON: {where}. Does the URL "
        f"name a server with {api}'s API?"
    )


def retry_after_s(response: httpx.Response) -> float | None:
    """The seconds after which a server wants to be asked again, at most an hour; None where it names none.

    The header is a number of seconds or a date, which is compared with the clock of the server where it sent its Date.

    >>> [retry_after_s(httpx.Response(429, headers={"retry-after": text})) for text in ("20", "1e9", "soon")]
    [20.0, 3600.0, None]
    """
    text = response.headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        until = _date(text)
        if until is None:
            return None
        seconds = (until - (_date(response.headers.get("date", "")) or datetime.now(UTC))).total_seconds()
    return None if math.isnan(seconds) else min(max(seconds, 0.0), LONGEST_S)


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def matrix_of(rows: Sequence[Sequence[float]], *, model: str, texts: int) -> Vectors:
    """One row per text. Raises EmbeddingValidationError for another number of rows, and for rows of several lengths."""
    if len(rows) != texts:
        raise EmbeddingValidationError(f"{model} returned {len(rows)} vectors for {texts} texts.")
    if len({len(row) for row in rows}) != 1:
        raise EmbeddingValidationError(f"{model} returned vectors of different dimensions.")
    return np.asarray(rows, dtype=np.float32)
