"""The ports of the stages of a tags job, as Protocols; see stages/ports.py."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from schemas.values.tags import Lexicon, Neighbour

Vector = NDArray[np.float32]
"""One row of numbers."""


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
    """The tokens of vocabularies, searched by vector."""

    async def nearest(
        self, vocabulary_id: int, queries: Sequence[tuple[str, Vector]], *, limit: int
    ) -> list[tuple[Neighbour, ...]]:
        """For each query, in order, the `limit` nearest tokens: similarity down, then by token.

        A query is a token and its vector. Names of tags and aliases are both tokens; a token is not its own
        neighbour. Similarity is the raw cosine and may be negative. One round trip for all queries; without queries the
        list is empty, without a round trip. Raises VocabularyMissingError when there is no such vocabulary,
        VocabularyModelsError when it has no vectors yet, and EmbeddingDimensionMismatchError when a query has another
        dimension than the vocabulary.
        """
        ...
