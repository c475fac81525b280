"""Names of models, servers and number formats, by which two mentions of one are compared."""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from typing import Final
from urllib.parse import urlsplit

from schemas.errors import EmbeddingArtifactMismatchError, Refused
from schemas.values.chat import ChatCall, ChatReply, Message

ALIASES: Final[dict[str, dict[str, str]]] = {
    "gemma3:27b": {"ollama": "gemma3:27b", "huggingface": "google/gemma-3-27b-it"},
    "medgemma:27b": {"huggingface": "google/medgemma-27b-text-it"},
    "qwen3-embedding:8b": {"ollama": "qwen3-embedding:8b", "huggingface": "Qwen/Qwen3-Embedding-8B"},
}
"""Canonical name -> the name in each backend that has the model. Any other model has the same name everywhere."""


def canonical_model(name: str) -> str:
    """The canonical name of a model, given any backend's name of it.

    >>> canonical_model("Qwen/Qwen3-Embedding-8B"), canonical_model("all-minilm-l6-v2")
    ('qwen3-embedding:8b', 'all-minilm-l6-v2')
    """
    return next((canonical for canonical, names in ALIASES.items() if name in (canonical, *names.values())), name)


def resolved_model(name: str, backend: str) -> str:
    """The name of a model in a backend. Raises Refused where that lacks it. Servers with OpenAI's API name their models
    as they like: backend `openai` has the name as it is.

    >>> resolved_model("qwen3-embedding:8b", "huggingface")
    'Qwen/Qwen3-Embedding-8B'
    """
    names = ALIASES.get(canonical_model(name))
    if backend == "openai" or names is None:
        return name
    if backend not in names:
        raise Refused(f"The backend {backend} does not have the model {name}; choose {' or '.join(names)}.")
    return names[backend]


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
    """Raise EmbeddingArtifactMismatchError for `first_unlike` of the formats that `what` was made with. `then` is what
    helps after the workers were started with the other format."""
    other = first_unlike(dtype, made_with)
    if other is not None:
        raise EmbeddingArtifactMismatchError(
            f"{what} was embedded in {other}, and this worker embeds in {dtype}; vectors of the two are not compared. "
            f"Start the workers with RAGQ_EMBEDDING_DTYPE={other}, and {then}."
        )


def first_unlike(dtype: str, others: Collection[str]) -> str | None:
    """The first format whose vectors cannot be compared with those of `dtype`; None when all can. Formats that are
    unknown, and those of servers, whose digest covers them, are not compared."""
    for other in others:
        both = {dtype, other}
        if len(both) == 2 and both <= set(FORMATS) and not both <= _COMPARABLE:
            return other
    return None


_BYTES_PER_TOKEN: Final = 3
_REPLY_TOKENS: Final = 1024
_MESSAGE_TOKENS: Final = 64
"""What the template of a model may add to a message, at most."""
_PIECES: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]|[^\sA-Za-z0-9]+|\s+")
_WHOLE_WORD: Final = 6
_MARGIN: Final = 1.12


def estimated_tokens(call: ChatCall) -> int:
    """The tokens that a call will use: rather too many.

    >>> estimated_tokens(ChatCall(model="m", messages=({"role": "user", "content": "a" * 300},), max_tokens=20))
    184
    """
    return most_prompt_tokens(call.messages) + (call.max_tokens or _REPLY_TOKENS)


def used_tokens(call: ChatCall, reply: ChatReply) -> int:
    """The tokens that a server counted; the estimate where it counts none."""
    if reply.prompt_tokens is None and reply.reply_tokens is None:
        return estimated_tokens(call)
    return (reply.prompt_tokens or 0) + (reply.reply_tokens or 0)


def most_tokens(text: str) -> int:
    """The tokens of a text by the tokenizer of a language model: rather too many, so that what should fit does.

    Words of six letters are one token, longer ones one for four letters; each digit and mark is one, and so is each
    byte of other scripts. With its margin, the estimate was 1.0 to 1.6 times what the tokenizer of SmolLM2 counts in
    924 passages of interviews, papers, manuals and source code; those of larger models count fewer.

    >>> most_tokens("Black tea turns dark.")
    7
    """
    counted = 0
    for piece in _PIECES.findall(text):
        if piece.isspace():
            counted += piece.count("\n") + (len(piece) > 1)
        elif piece.isascii() and piece.isalpha():
            counted += 1 if len(piece) <= _WHOLE_WORD else ceil(len(piece) / 4)
        else:
            counted += len(piece.encode(errors="replace"))
    return max(ceil(_MARGIN * counted), len(text.encode(errors="replace")) // _BYTES_PER_TOKEN)


def most_prompt_tokens(messages: Sequence[Message]) -> int:
    """The tokens of a prompt with what the template of the model adds, likewise."""
    return sum(most_tokens(message.content) + _MESSAGE_TOKENS for message in messages)


def reply_room(context: int, max_tokens: int | None) -> int:
    """The tokens of a context that are left for the reply: its limit, or 1,024; never more than half."""
    return min(max_tokens or _REPLY_TOKENS, context // 2)
