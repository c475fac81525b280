"""Names of models, servers and number formats, by which two mentions of one are compared."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from schemas.errors import EmbeddingArtifactMismatchError, Refused


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


def server_name(url: str) -> str:
    """The identity of a server: its URL in one form, without credentials, query and fragment.

    >>> server_name("https://me:key@LLM.example.org:443/v1/?token=a"), server_name("http://127.0.0.1:11434")
    ('https://llm.example.org/v1', 'http://127.0.0.1:11434')
    """
    address = urlsplit(url)
    host = (address.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    default = {"http": 80, "https": 443}.get(address.scheme)
    port = "" if address.port in (None, default) else f":{address.port}"
    return f"{address.scheme}://{host}{port}{address.path.rstrip('/')}"


@contextmanager
def naming_server(url: str) -> Iterator[None]:
    """A block in which a server is asked: what is raised in it remembers which."""
    try:
        yield
    except Exception as error:
        error.asked_server = server_name(url)  # type: ignore[attr-defined]
        raise


def asked_server(error: BaseException) -> str | None:
    """The server that was asked when an exception was raised, if it is known."""
    return getattr(error, "asked_server", None)


FORMATS: Final = ("float32", "bfloat16", "float16")
"""The formats that an embedder in the worker can compute in."""

#: Vectors of these may be compared: docs/benchmarks.md has the measurement. No other pair was measured.
_COMPARABLE: Final = frozenset({"float32", "bfloat16"})


def refuse_mixture(dtype: str, made_with: Collection[str], *, what: str, then: str = "retry the failed jobs") -> None:
    """Raise EmbeddingArtifactMismatchError when vectors of a format cannot be compared with those of `what`.

    Formats that are unknown, and those of servers, whose digest covers them, are not compared. `then` is what helps
    after the workers were started with the other format.
    """
    other = first_unlike(dtype, made_with)
    if other is not None:
        raise EmbeddingArtifactMismatchError(
            f"{what} was embedded in {other}, and this worker embeds in {dtype}; vectors of the two are not compared. "
            f"Start the workers with RAGQ_EMBEDDING_DTYPE={other}, and {then}."
        )


def first_unlike(dtype: str, others: Collection[str]) -> str | None:
    """The first format whose vectors cannot be compared with those of `dtype`; None when all can."""
    return next((other for other in others if not _fits(dtype, other)), None)


def _fits(dtype: str, other: str) -> bool:
    return dtype == other or {dtype, other} <= _COMPARABLE or not {dtype, other} <= set(FORMATS)
