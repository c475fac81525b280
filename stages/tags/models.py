"""The models of a vocabulary."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from stages.tags.ports import Vector


class SentenceModel(NamedTuple):
    """The sentence embedder of a vocabulary, which embeds phrases too."""

    backend: str
    """Where it runs, as EMBEDDING_BACKEND."""
    model: str
    digest: str
    """Of its weights; empty if its server reports none."""


class TokenModel(NamedTuple):
    """A model that embeds tokens, reduced to those of a vocabulary."""

    name: str
    """The kind of model."""
    dimension: int
    vectors: Mapping[str, Vector]
    """Token -> its vector of length 1."""
    tokens_file: bytes


@dataclass(frozen=True, kw_only=True)
class BuiltModels:
    """The models of a vocabulary: the vectors to search, and the bytes of the files that embed requests."""

    name: str
    """The kind of model that embeds the tokens."""
    dimension: int
    """Numbers per token vector."""
    vectors: Mapping[str, Vector]
    """Token -> its vector of length 1. Names of tags and aliases are both tokens."""
    context_rows: Mapping[str, Vector]
    """Tag -> its row of length 1; tags that occur with no other have none."""
    tokens_file: bytes
    context_file: bytes
    similarity_file: bytes | None = None
    """Spelling and meaning of the tokens; None without a sentence embedder."""
    sentences: SentenceModel | None = None
    """What embedded the names for it."""
