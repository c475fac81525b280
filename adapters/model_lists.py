"""What a server reports of the model behind a name, in its own list of models: the identity that the ledger keeps.

Only HTTP, so that a submission can ask without loading a model.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import PureWindowsPath
from typing import Any, Final

import httpx
import numpy as np
from pydantic import BaseModel, ValidationError

from schemas.errors import EmbeddingValidationError, LLMError, LLMTimeoutError, ModelMissingError
from schemas.values.chat import ModelIdentity
from stages.models import server_name
from stages.ports import Vectors

LONGEST_S: Final = 3600.0
"""A server is asked again after this time in any case."""


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


LOOKUP_TIMEOUT_S = 30.0
LOOKUP_VALID_S = 60.0
"""After this time a model is looked up again: another may be served under its name."""


@asynccontextmanager
async def time_limit(timeout_s: float) -> AsyncIterator[None]:
    """Raises LLMTimeoutError when the block takes longer."""
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError:
        raise LLMTimeoutError(timeout_s) from None


class ModelServer:
    """A server, each model of which is looked up once a minute."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[float, ModelIdentity]] = {}

    async def identity(self, model: str) -> ModelIdentity:
        """The model behind a name. Raises LLMTimeoutError after 30 s, and what the lookup raises."""
        asked_at, found = self._found.get(model, (0.0, None))
        if found is None or time.monotonic() - asked_at > LOOKUP_VALID_S:
            async with time_limit(LOOKUP_TIMEOUT_S):
                found = await self._look_up(model)
            self._found[model] = time.monotonic(), found
        return found

    async def _look_up(self, model: str) -> ModelIdentity:
        raise NotImplementedError


LISTED_FIELDS = ("id", "owned_by", "meta")

#: Where an entry says how many tokens the model is given; what it was trained with comes last.
_CONTEXT_KEYS = (
    "max_model_len",
    "n_ctx",
    "loaded_context_length",
    "context_length",
    "max_context_length",
    "n_ctx_train",
)


class _Details(BaseModel):
    quantization_level: str = ""


class _Tag(BaseModel):
    model: str
    digest: str = ""
    details: _Details = _Details()


class _Tags(BaseModel):
    models: list[_Tag]
    server: str | None = None


class _Answer(BaseModel):
    """What is read of the other answers, each of which has one of these."""

    model_info: dict[str, Any] = {}
    default_generation_settings: dict[str, Any] = {}
    data: list[dict[str, Any]] = []


def _read(response: httpx.Response) -> _Answer:
    try:
        return _Answer.model_validate_json(response.content)
    except ValidationError:
        return _Answer()


async def ollama_identity(client: httpx.AsyncClient, url: str, model: str) -> ModelIdentity:
    """The identity of a model of an Ollama server, from `/api/tags`, and its context, from `/api/show`.

    The server of `ragq up`, which has another port at each start, reports a name of its own. Raises LLMError when the
    server has no such model or answers with something else, and connection errors unchanged.
    """
    response = await client.get(f"{url}/api/tags")
    if response.is_error:
        raise status_error(url, model, response)
    try:
        tags = _Tags.model_validate_json(response.content)
    except ValidationError as error:
        raise LLMError(
            f"{url} answered a request for model '{model}' with something other than Ollama's JSON "
            f"({type(error).__name__}). Is it an Ollama server?"
        ) from None
    listed = {tag.model: tag for tag in tags.models}
    found = listed.get(model, listed.get(f"{model}:latest"))
    if found is None:
        raise ModelMissingError(server_name(url), model, list(listed), is_embedded=tags.server is not None)
    shown = _read(await client.post(f"{url}/api/show", json={"model": model})).model_info
    return ModelIdentity(
        backend="ollama",
        server=tags.server or server_name(url),
        model=model,
        digest=found.digest,
        quantization=found.details.quantization_level or None,
        context_tokens=next((_tokens(n) for key, n in shown.items() if key.endswith(".context_length")), None),
    )


def _listed_context(entry: dict[str, Any]) -> int | None:
    """The context in an entry of OpenAI's list, as vLLM, llama.cpp and others name it.

    >>> _listed_context({"id": "m", "meta": {"n_ctx_train": 32768, "n_ctx": 4096}})
    4096
    """
    meta = entry.get("meta")
    places = (entry, meta if isinstance(meta, dict) else {})
    return next((found for key in _CONTEXT_KEYS for of in places if (found := _tokens(of.get(key)))), None)


def _tokens(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


async def openai_identity(client: httpx.AsyncClient, base_url: str, model: str) -> ModelIdentity:
    """The identity of a model of an OpenAI-compatible server at a base URL such as `http://127.0.0.1:8000/v1`.

    This API reports no digest: it is the server's entry for the model, or all of the list where the name is in none.
    llama.cpp answers to any name with the model that it has. A server without a list has no entry. An entry's `created`
    is no part of it: that is the time of the answer on vLLM, llama.cpp and others. Raises LLMError for an answer with
    an error, and connection errors unchanged.
    """
    url = f"{base_url.rstrip('/')}/models"
    entries = await _entries(client, url, model)
    context = await _context(client, url, entries[0]) if len(entries) == 1 else None
    listed = tuple(sorted(map(_known_fields, entries), key=lambda entry: str(entry.get("id"))))
    return unlisted(base_url, model).model_copy(update={"listed": listed, "context_tokens": context})


def unlisted(base_url: str, model: str) -> ModelIdentity:
    """The identity of a model of an OpenAI-compatible server whose entry is not known."""
    return ModelIdentity(backend="openai", server=server_name(base_url), model=model, digest="")


async def _context(client: httpx.AsyncClient, url: str, entry: dict[str, Any]) -> int | None:
    """What a slot of llama.cpp has is in its properties: its list says what the model was trained with."""
    if entry.get("owned_by") == "llamacpp":
        props = _read(await client.get(f"{url.removesuffix('/v1/models')}/props"))
        if tokens := _tokens(props.default_generation_settings.get("n_ctx")):
            return tokens
    return _listed_context(entry)


async def _entries(client: httpx.AsyncClient, url: str, model: str) -> list[dict[str, Any]]:
    response = await client.get(url)
    if response.status_code in (httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED, httpx.codes.NOT_IMPLEMENTED):
        return []
    if response.is_error:
        raise status_error(url, model, response)
    entries = _read(response).data
    return [entry for entry in entries if entry.get("id") == model] or entries


def _known_fields(entry: dict[str, Any]) -> dict[str, Any]:
    known = {name: entry[name] for name in LISTED_FIELDS if name in entry}
    if isinstance(known.get("id"), str):
        # llama.cpp names a model by the path of its file, which may name a person.
        path = PureWindowsPath(known["id"])
        known["id"] = path.name if path.root else known["id"]
    return known


def status_error(url: str, model: str, response: httpx.Response) -> LLMError:
    """The error of an answer with an error to a request about a model."""
    return LLMError(
        f"{server_name(url)} answered a request for model '{model}' with status {response.status_code}.",
        status=response.status_code,
        detail=response.text,
        retry_after_s=retry_after_s(response),
    )
