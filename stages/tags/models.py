"""What is built from a vocabulary, and who builds it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from schemas.values.tags import Vocabulary
from stages.tags.ports import Vector


class TokenModel(NamedTuple):
    """A model that places tokens, as far as a vocabulary has them."""

    name: str
    """What kind of model it is."""
    dimension: int
    vectors: Mapping[str, Vector]
    """Token -> its vector of length 1."""
    tokens_file: bytes


@dataclass(frozen=True, kw_only=True)
class BuiltModels:
    """The models of a vocabulary: what is searched, and the bytes of the files that requests are embedded with."""

    name: str
    """What kind of model places the tokens."""
    dimension: int
    """Numbers per token vector."""
    vectors: Mapping[str, Vector]
    """Token -> its vector of length 1. Names of tags and aliases are tokens alike."""
    context_rows: Mapping[str, Vector]
    """Tag -> its row of length 1; tags that occur with no other have none."""
    tokens_file: bytes
    context_file: bytes


class ModelBuilder(Protocol):
    """Who builds the models of a vocabulary."""

    def build(self, vocabulary: Vocabulary, *, seed: int, tokens: TokenModel | None = None) -> BuiltModels:
        """The models. The same vocabulary and seed give the same bytes, in any process.

        Every tag and alias has a vector, unless `tokens` places them: then nothing is trained to do so. Raises
        VocabularyModelsError when there is nothing to learn from.
        """
        ...
