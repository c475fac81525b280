"""Servers of models: how they are asked, and what they report of the model behind a name, which the ledger keeps."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import PureWindowsPath
from typing import Any, ClassVar, Final, TypeVar

import httpx
import numpy as np
from pydantic import BaseModel, ValidationError

from schemas.errors import EmbeddingValidationError, LLMError, LLMTimeoutError, ModelMissingError, TextTooLongError
from schemas.values.chat import ModelIdentity
from stages.models import naming_server, server_name
from stages.ports import TextVectors

LONGEST_S: Final = 3600.0
"""A server is asked again after this time in any case."""


def retry_after_s(response: httpx.Response) -> float | None:
    """The seconds after which a server wants to be asked again, at most an hour; None where it names none.

    >>> [retry_after_s(httpx.Response(429, headers={"retry-after": text})) for text in ("20", "1e9", "soon")]
    [20.0, 3600.0, None]
    """
    try:
        seconds = float(response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return None if math.isnan(seconds) else min(max(seconds, 0.0), LONGEST_S)


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


Answer = TypeVar("Answer", bound=BaseModel)


class ModelServer:
    """A server, each model of which is looked up once a minute. What it says in an error is in `LLMError.detail` and
    never in a message, because it may quote a prompt."""

    #: Whose API it has.
    api: ClassVar[str]

    def __init__(self, url: str, client: httpx.AsyncClient) -> None:
        self._url = url.rstrip("/")
        self.shown_url = server_name(url)
        """As people and logs may see it."""
        self._client = client
        self._found: dict[str, tuple[float, ModelIdentity]] = {}

    async def close(self) -> None:
        await self._client.aclose()

    async def identity(self, model: str) -> ModelIdentity:
        """The model behind a name. Raises LLMTimeoutError after 30 s, and what the lookup raises."""
        asked_at, found = self._found.get(model, (0.0, None))
        if found is None or time.monotonic() - asked_at > LOOKUP_VALID_S:
            async with time_limit(LOOKUP_TIMEOUT_S):
                with naming_server(self._url):
                    found = await self._look_up(model)
            self._found[model] = time.monotonic(), found
        return found

    async def _look_up(self, model: str) -> ModelIdentity:
        raise NotImplementedError

    def is_too_long(self, error: LLMError) -> bool:
        """Whether the server refused a text as longer than its model reads."""
        raise NotImplementedError

    @asynccontextmanager
    async def asking(self, path: str, body: dict[str, Any]) -> AsyncIterator[httpx.Response]:
        """The answer to a request about a model, whose content is still to be read. Raises LLMError with the HTTP
        status for an error: 429 and 5xx are faults that may be temporary."""
        with naming_server(self._url):
            async with self._client.stream("POST", f"{self._url}/{path}", json=body) as response:
                if response.is_error:
                    await response.aread()
                    raise status_error(f"{self._url}/{path}", body["model"], response)
                yield response

    def parsed(self, kind: type[Answer], model: str, content: bytes | str) -> Answer:
        """The content of an answer. Raises LLMError for another one, with the invalid fields, without their values."""
        try:
            return kind.model_validate_json(content)
        except ValidationError as error:
            found = error.errors(include_input=False, include_url=False, include_context=False)
            wrong = (f"{'.'.join(map(str, item['loc'])) or 'body'} is wrong ({item['type']})" for item in found)
            raise self.strange(model, "; ".join(wrong)) from None

    def strange(self, model: str, found: str) -> LLMError:
        """The error of an answer that is not one of its API."""
        return LLMError(
            f"{self.shown_url} answered a request for model '{model}' with something other than {self.api}'s "
            f"JSON: {found}. Is it a server with {self.api}'s API?"
        )


#: Texts of one request: as many as every server takes unless it is told otherwise.
TEXTS_PER_REQUEST: Final = 32

Rows = tuple[Sequence[Sequence[float]], int | None]
"""The vectors of texts, and the tokens that a server read of all of them together, if it reports them."""


class ServedEmbedder:
    """The port Embedder over a server."""

    def __init__(self, name: str, server: ModelServer) -> None:
        self.name = name
        self.server = server
        self.cuts_at: float = math.inf
        """The tokens of a text from which on the server may have cut it without a word."""

    async def close(self) -> None:
        await self.server.close()

    async def digest(self) -> str:
        """See Embedder. Raises LLMError when the server has no such model."""
        return (await self.server.identity(self.name)).digest

    async def dtype(self) -> str:
        """See Embedder. Raises LLMError when the server has no such model."""
        return (await self.server.identity(self.name)).quantization or ""

    async def embed_batch(self, texts: Sequence[str], *, timeout_s: float, truncate: bool) -> TextVectors:
        """See Embedder. Raises LLMError when the server answers with an error; `timeout_s` holds for all requests."""
        if not texts:
            return TextVectors(np.zeros((0, 0), dtype=np.float32))
        async with time_limit(timeout_s):
            rows, cut = await self._embed(texts, truncate=truncate)
        if len({len(row) for row in rows}) != 1:
            raise EmbeddingValidationError(f"{self.name} returned vectors of different dimensions.")
        return TextVectors(np.asarray(rows, dtype=np.float32), tuple(cut))

    async def _embed(self, texts: Sequence[str], *, truncate: bool) -> tuple[list[Sequence[float]], list[int]]:
        # No token is shorter than a byte.
        sizes = [len(text.encode(errors="replace")) for text in texts]
        await self._prepare(max(sizes))
        together = [at for at, size in enumerate(sizes) if size < self.cuts_at]
        # How much a server read of each of several texts it does not report, nor which of them is too long.
        alone = [at for at, size in enumerate(sizes) if size >= self.cuts_at]
        rows: dict[int, Sequence[float]] = {}
        for start in range(0, len(together), TEXTS_PER_REQUEST):
            group = together[start : start + TEXTS_PER_REQUEST]
            whole = await self._whole([texts[at] for at in group])
            if whole is None:
                alone += group
            else:
                rows.update(zip(group, whole[0], strict=True))
        cut: list[int] = []
        for at in sorted(alone):
            whole = await self._whole([texts[at]])
            if whole is None or (whole[1] or 0) >= self.cuts_at:
                if not truncate:
                    raise TextTooLongError(self.name, at, texts=len(texts), chars=len(texts[at]))
                cut.append(at)
            rows[at] = (whole or await self._start_of(texts[at]))[0][0]
        return [rows[at] for at in range(len(texts))], cut

    async def _whole(self, texts: Sequence[str]) -> Rows | None:
        """The vectors of whole texts; None if the server refuses one of them as too long."""
        try:
            rows, tokens = await self._rows(texts)
        except LLMError as error:
            if not self.server.is_too_long(error):
                raise
            return None
        if len(rows) != len(texts):
            raise EmbeddingValidationError(f"{self.name} returned {len(rows)} vectors for {len(texts)} texts.")
        return rows, tokens

    async def _prepare(self, longest: int) -> None:
        """Before texts of at most so many bytes are sent."""
        raise NotImplementedError

    async def _rows(self, texts: Sequence[str]) -> Rows:
        """The vectors of texts, none of which the server is allowed to cut, as far as it can be told."""
        raise NotImplementedError

    async def _start_of(self, text: str) -> Rows:
        """The vector of the start of a text that is too long."""
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


class _Tag(BaseModel):
    model: str
    digest: str = ""
    details: dict[str, Any] = {}


class _Answer(BaseModel):
    """What is read of the answers, each of which has one of these."""

    models: list[_Tag] | None = None
    server: str | None = None
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
    tags = _read(response)
    if tags.models is None:
        raise LLMError(
            f"{server_name(url)} answered a request for model '{model}' with something other than Ollama's JSON. "
            "Is it an Ollama server?"
        )
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
        quantization=found.details.get("quantization_level") or None,
        context_tokens=next((_tokens(n) for key, n in shown.items() if key.endswith(".context_length")), None),
    )


def _tokens(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


_NO_LIST: Final = (httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED, httpx.codes.NOT_IMPLEMENTED)


async def openai_identity(client: httpx.AsyncClient, base_url: str, model: str) -> ModelIdentity:
    """The identity of a model of an OpenAI-compatible server at a base URL such as `http://127.0.0.1:8000/v1`.

    This API reports no digest: it is the server's entry for the model, or all of the list where the name is in none.
    llama.cpp answers to any name with the model that it has. A server without a list has no entry. An entry's `created`
    is no part of it: that is the time of the answer on vLLM, llama.cpp and others. Raises LLMError for an answer with
    an error, and connection errors unchanged.
    """
    url = f"{base_url.rstrip('/')}/models"
    response = await client.get(url)
    if response.is_error and response.status_code not in _NO_LIST:
        raise status_error(url, model, response)
    listed = [] if response.is_error else _read(response).data
    entries = [entry for entry in listed if entry.get("id") == model] or listed
    known = sorted(map(_known_fields, entries), key=lambda entry: str(entry.get("id")))
    context = await _context(client, url, entries[0]) if len(entries) == 1 else None
    return unlisted(base_url, model).model_copy(update={"listed": tuple(known), "context_tokens": context})


def unlisted(base_url: str, model: str) -> ModelIdentity:
    """The identity of a model of an OpenAI-compatible server whose entry is not known."""
    return ModelIdentity(backend="openai", server=server_name(base_url), model=model, digest="")


async def _context(client: httpx.AsyncClient, url: str, entry: dict[str, Any]) -> int | None:
    """The context in an entry of the list, as vLLM, llama.cpp and others name it. What a slot of llama.cpp has is in
    its properties: its list says what the model was trained with."""
    meta = entry.get("meta")
    places = [entry, meta if isinstance(meta, dict) else {}]
    if entry.get("owned_by") == "llamacpp":
        props = _read(await client.get(f"{url.removesuffix('/v1/models')}/props"))
        places.insert(0, props.default_generation_settings)
    return next((found for key in _CONTEXT_KEYS for of in places if (found := _tokens(of.get(key)))), None)


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
