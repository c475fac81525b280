"""What the stages of a tags job ask of the world, as Protocols; see stages/ports.py."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from schemas.values.tags import Lexicon, Neighbour

Vector = NDArray[np.float32]
"""One row of numbers."""


class TokenVectors(Protocol):
    """A model that places tokens among each other. Blocking; may be called from any thread."""

    @property
    def name(self) -> str:
        """What kind of model it is."""
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
        """Vectors of length 1, by token; tokens that the model can say nothing about are absent.

        A model with subwords answers for words that it never saw. A vector depends on its token alone.
        """
        ...


class TagLexicon(Protocol):
    """What vocabularies know about tokens."""

    async def look_up(self, vocabulary_id: int, tokens: Sequence[str]) -> Lexicon:
        """The tags among the tokens, the aliases among them, and the tags that those stand for. Unknown ones drop out.

        All tokens travel in one round trip; no token gives an empty lexicon without one. Raises
        VocabularyMissingError when there is no such vocabulary.
        """
        ...


class NeighbourSearch(Protocol):
    """The tokens of vocabularies, searched by vector."""

    async def nearest(
        self, vocabulary_id: int, queries: Sequence[tuple[str, Vector]], *, limit: int
    ) -> list[tuple[Neighbour, ...]]:
        """For each query, in order, the `limit` nearest tokens: similarity down, then by token.

        A query is a token and its vector. Names of tags and aliases are tokens alike; a token is no neighbour of
        itself. Similarity is the raw cosine and may be negative. All queries travel in one round trip; no query gives
        an empty list without one. Raises VocabularyMissingError when there is no such vocabulary,
        VocabularyModelsError when it has no vectors yet, and EmbeddingDimensionMismatchError when a query has another
        dimension than the vocabulary.
        """
        ...
