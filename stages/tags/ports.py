"""The ports of the stages of a tags job, as Protocols; see stages/ports.py."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from schemas.values.tags import Lexicon, Neighbour

Vector = NDArray[np.float32]
"""One row of numbers."""


class TokenQuery(NamedTuple):
    """A lookup whose neighbours are searched."""

    token: str
    vector: Vector | None
    """Of the token model; None if that cannot embed it."""
    sentence: Vector | None = None
    """Of the sentence embedder. With it all sources count, without it the token model alone."""


class TokenVectors(Protocol):
    """A model that embeds tokens. Blocking; may be called from any thread."""

    @property
    def name(self) -> str:
        """The kind of model."""
        ...

    @property
    def digest(self) -> str:
        """The SHA-256 of its bytes."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        ...

    def vectors_of(self, tokens: Sequence[str]) -> Mapping[str, Vector]:
        """Vectors of length 1, by token; tokens that the model cannot embed are absent.

        A model with subwords also embeds words that it was not trained on. A vector depends only on its token.
        """
        ...


class TagLexicon(Protocol):
    """Tags and aliases of vocabularies, by token."""

    async def look_up(self, vocabulary_id: int, tokens: Sequence[str]) -> Lexicon:
        """The tags and the aliases among the tokens, and the tags of those aliases. Unknown tokens are absent.

        One round trip for all tokens; without tokens the lexicon is empty, without a round trip. Raises
        VocabularyMissingError when there is no such vocabulary.
        """
        ...


class NeighbourSearch(Protocol):
    """The tokens of vocabularies, searched by similarity."""

    async def nearest(
        self, vocabulary_id: int, queries: Sequence[TokenQuery], *, limit: int
    ) -> list[tuple[Neighbour, ...]]:
        """For each query, in order, the `limit` nearest tokens: similarity down, then by token.

        Names of tags and aliases are both tokens; a token is not its own neighbour. Without sentence vectors similarity
        is the raw cosine and may be negative; all queries have one, or none has. Without queries the list is empty.
        Raises VocabularyMissingError when there is no such vocabulary, VocabularyModelsError when it lacks the vectors
        that are asked for, and EmbeddingDimensionMismatchError when a query has vectors of another dimension.
        """
        ...
