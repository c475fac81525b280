"""A vocabulary in memory, and an untrained model of tokens."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from schemas.errors import EmbeddingDimensionMismatchError, VocabularyError, VocabularyMissingError
from schemas.values.tags import Lexicon, NearToken, Tag
from stages.ports import TokenQuery, Vector


def unit(*numbers: float) -> Vector:
    """The row at length 1."""
    row = np.asarray(numbers, dtype=np.float64)
    return np.asarray(row / np.linalg.norm(row), dtype=np.float32)


@dataclass
class InMemoryVocabulary:
    """A TagLexicon and a NeighbourSearch over one vocabulary. `searched` keeps the tokens of every search."""

    tags: Mapping[str, Tag]
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    vectors: Mapping[str, Vector] = field(default_factory=dict)
    rows: Mapping[str, Vector] = field(default_factory=dict)
    vocabulary_id: int = 1
    searched: list[tuple[str, ...]] = field(default_factory=list)

    async def look_up(self, vocabulary_id: int, tokens: Sequence[str]) -> Lexicon:
        """See TagLexicon."""
        if tokens and vocabulary_id != self.vocabulary_id:
            raise VocabularyMissingError(vocabulary_id)
        aliases = {token: self.aliases[token] for token in tokens if token in self.aliases}
        names = {*tokens, *(target for targets in aliases.values() for target in targets)}
        return Lexicon(tags={name: self.tags[name] for name in sorted(names & self.tags.keys())}, aliases=aliases)

    async def nearest(
        self, vocabulary_id: int, queries: Sequence[TokenQuery], *, limit: int
    ) -> list[tuple[NearToken, ...]]:
        """See NeighbourSearch."""
        if not queries:
            return []
        self.searched.append(tuple(query.token for query in queries))
        if vocabulary_id != self.vocabulary_id:
            raise VocabularyMissingError(vocabulary_id)
        if not self.vectors:
            raise VocabularyError(f"Vocabulary {vocabulary_id} has no vectors.")
        dimension = len(next(iter(self.vectors.values())))
        found = []
        for query in queries:
            assert query.vector is not None, "the fake compares vectors of tokens alone"
            if len(query.vector) != dimension:
                raise EmbeddingDimensionMismatchError(expected=dimension, actual=len(query.vector))
            found.append(self._nearest(query.token, query.vector)[:limit])
        return found

    async def context_rows(self, tags: Collection[str]) -> Mapping[str, Vector]:
        """See ContextRows."""
        return {tag: self.rows[tag] for tag in sorted(self.rows.keys() & set(tags))}

    def _nearest(self, token: str, vector: Vector) -> tuple[NearToken, ...]:
        found = (
            NearToken(token=other, similarity=float(row.astype(np.float64) @ vector.astype(np.float64)))
            for other, row in self.vectors.items()
            if other != token
        )
        return tuple(sorted(found, key=lambda near: (-near.similarity, near.token)))


class FakeTokenVectors:
    """Every token has a vector: the sum over its characters of rows drawn from a hash. `given` rows come first."""

    name = "fake-tokens"
    digest = "fake-bytes"

    def __init__(
        self, given: Mapping[str, Vector] | None = None, *, dimension: int = 4, knows_all: bool = True
    ) -> None:
        self.given = dict(given or {})
        self.dimension = dimension
        self.knows_all = knows_all

    def vectors_of(self, tokens: Sequence[str]) -> Mapping[str, Vector]:
        """See TokenVectors."""
        known = {token: self.given[token] for token in tokens if token in self.given}
        drawn = {token: self._drawn(token) for token in tokens if token and token not in known and self.knows_all}
        return known | drawn

    def _drawn(self, token: str) -> Vector:
        return unit(*np.sum([_drawn_for(character, self.dimension) for character in token], axis=0))


@cache
def _drawn_for(character: str, dimension: int) -> Vector:
    seed = hashlib.sha256(character.encode("utf-8", "surrogatepass")).digest()
    return np.asarray(np.random.default_rng(list(seed)).standard_normal(dimension), dtype=np.float32)
