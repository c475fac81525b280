"""Names of the same model: each backend has its own."""

from typing import NamedTuple

from schemas.errors import Refused


class Names(NamedTuple):
    """The names of a model in the backends; None if a backend does not have it."""

    ollama: str | None
    huggingface: str | None


ALIASES: dict[str, Names] = {
    "gemma3:27b": Names("gemma3:27b", "google/gemma-3-27b-it"),
    "medgemma:27b": Names(None, "google/medgemma-27b-text-it"),
    "qwen3-embedding:8b": Names("qwen3-embedding:8b", "Qwen/Qwen3-Embedding-8B"),
}
"""Canonical name -> the names in the backends. Any other model has the same name everywhere."""


class ModelNotServedError(Refused, ValueError):
    """A backend does not have the model."""


def canonical_model(name: str) -> str:
    """The canonical name of a model, given any backend's name of it.

    >>> canonical_model("Qwen/Qwen3-Embedding-8B"), canonical_model("all-minilm-l6-v2")
    ('qwen3-embedding:8b', 'all-minilm-l6-v2')
    """
    return next((canonical for canonical, names in ALIASES.items() if name in (canonical, *names)), name)


def resolved_model(name: str, backend: str) -> str:
    """The name of a model in a backend. Raises ModelNotServedError.

    Servers with OpenAI's API name their models as they like: backend `openai` has the name as it is.

    >>> resolved_model("qwen3-embedding:8b", "huggingface")
    'Qwen/Qwen3-Embedding-8B'
    """
    canonical = canonical_model(name)
    if backend == "openai" or canonical not in ALIASES:
        return name
    names = ALIASES[canonical]._asdict()
    if names[backend] is None:
        others = " or ".join(other for other, known in names.items() if known is not None)
        raise ModelNotServedError(f"The backend {backend} does not have the model {name}; choose {others}.")
    return str(names[backend])
