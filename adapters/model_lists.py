"""What a server reports of the model behind a name, in its own list of models: the identity that the ledger keeps.

Only HTTP, so that a submission can ask without loading a model.
"""

from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Any

import httpx
from pydantic import BaseModel, Field, ValidationError

from adapters.model_server import status_error, unlike
from schemas.errors import ModelMissingError
from schemas.values.chat import ModelIdentity
from stages.models import server_name

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


class _Shown(BaseModel):
    model_info: dict[str, Any] = {}


class _Props(BaseModel):
    default_generation_settings: dict[str, Any]


class _Models(BaseModel):
    data: list[dict[str, Any]] = Field(default_factory=list)


async def ollama_identity(client: httpx.AsyncClient, url: str, model: str) -> ModelIdentity:
    """The identity of a model of an Ollama server, from `/api/tags`, and its context, from `/api/show`.

    The server of `ragq up`, which has another port at each start, reports a name of its own. Raises LLMError when the
    server has no such model or answers with something else, and connection errors unchanged.
    """
    name = server_name(url)
    response = await client.get(f"{url}/api/tags")
    if response.is_error:
        raise status_error(name, model, response)
    try:
        tags = _Tags.model_validate_json(response.content)
    except ValidationError as error:
        raise unlike(name, model, "Ollama", error) from None
    listed = {tag.model: tag for tag in tags.models}
    found = listed.get(model, listed.get(f"{model}:latest"))
    if found is None:
        raise ModelMissingError(name, model, list(listed), is_embedded=tags.server is not None)
    return ModelIdentity(
        backend="ollama",
        server=tags.server or name,
        model=model,
        digest=found.digest,
        quantization=found.details.quantization_level or None,
        context_tokens=await _shown_context(client, url, model),
    )


async def _shown_context(client: httpx.AsyncClient, url: str, model: str) -> int | None:
    """The longest context of a model of an Ollama server; None where it does not say."""
    response = await client.post(f"{url}/api/show", json={"model": model})
    try:
        shown = _Shown.model_validate_json(response.content).model_info
    except ValidationError:
        return None
    return next((_tokens(value) for key, value in shown.items() if key.endswith(".context_length")), None)


async def openai_identity(client: httpx.AsyncClient, base_url: str, model: str) -> ModelIdentity:
    """The identity of a model of an OpenAI-compatible server at a base URL such as `http://127.0.0.1:8000/v1`.

    It has the server's entry for the model, or all of its list where the name is in none: llama.cpp answers to any name
    with the model that it has. A server without a list has no entry. This API reports no digest. An entry's `created`
    is no part of the identity: it is the time of the answer on vLLM, llama.cpp and others. Raises LLMError for an
    answer with an error, and connection errors unchanged.
    """
    entries = await _entries(client, f"{base_url.rstrip('/')}/models", model)
    context = await _context(client, base_url, entries[0]) if len(entries) == 1 else None
    listed = sorted(map(_known_fields, entries), key=lambda entry: str(entry.get("id")))
    return replace(unlisted(base_url, model), listed=tuple(listed), context_tokens=context)


def unlisted(base_url: str, model: str) -> ModelIdentity:
    """The identity of a model of an OpenAI-compatible server of which no more is known."""
    return ModelIdentity(backend="openai", server=server_name(base_url), model=model, digest="")


async def _entries(client: httpx.AsyncClient, url: str, model: str) -> list[dict[str, Any]]:
    response = await client.get(url)
    if response.status_code in (httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED, httpx.codes.NOT_IMPLEMENTED):
        return []
    if response.is_error:
        raise status_error(server_name(url), model, response)
    try:
        entries = _Models.model_validate_json(response.content).data
    except ValidationError:
        return []
    return [entry for entry in entries if entry.get("id") == model] or entries


async def _context(client: httpx.AsyncClient, base_url: str, entry: dict[str, Any]) -> int | None:
    """What a slot of llama.cpp has is in its properties: its list says what the model was trained with."""
    if entry.get("owned_by") == "llamacpp":
        response = await client.get(f"{base_url.rstrip('/').removesuffix('/v1')}/props")
        try:
            found = _Props.model_validate_json(response.content).default_generation_settings.get("n_ctx")
        except ValidationError:
            found = None
        if tokens := _tokens(found):
            return tokens
    return _listed_context(entry)


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


def _known_fields(entry: dict[str, Any]) -> dict[str, Any]:
    known = {name: entry[name] for name in LISTED_FIELDS if name in entry}
    if isinstance(known.get("id"), str):
        # llama.cpp names a model by the path of its file, which may name a person.
        known["id"] = _without_folder(known["id"])
    return known


def _without_folder(name: str) -> str:
    path = PureWindowsPath(name)
    return path.name if path.root else name
