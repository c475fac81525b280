"""A vocabulary in memory, and an untrained model of tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from schemas.values.tags import NearToken, Tag, Vocabulary
from stages.ports import TokenQuery, Vector
from stages.tags.similarity import TokenModel


def unit(*numbers: float) -> Vector:
    row = np.asarray(numbers, dtype=np.float64)
    return np.asarray(row / np.linalg.norm(row), dtype=np.float32)


@dataclass
class InMemoryVocabulary:
    """A vocabulary whose tokens are looked up."""

    tags: Mapping[str, Tag]
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    async def look_up(self, tokens: Sequence[str]) -> Vocabulary:
        aliases = {token: self.aliases[token] for token in tokens if token in self.aliases}
        names = {*tokens, *(target for targets in aliases.values() for target in targets)}
        tags = tuple(self.tags[name] for name in sorted(names & self.tags.keys()))
        return Vocabulary(tags=tags, aliases=aliases)


def token_model(vectors: Mapping[str, Vector]) -> TokenModel:
    tokens = sorted(vectors)
    rows = np.array([vectors[token] for token in tokens], dtype=np.float32).reshape(len(tokens), 2)
    return TokenModel(digest="tokens", tokens=tokens, vectors=rows)


class NotedSearch:
    """A NeighbourSearch over some vectors. `asked` keeps the tokens of every search."""

    def __init__(self, vectors: Mapping[str, Vector]) -> None:
        self._model = token_model(vectors)
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, queries: Sequence[TokenQuery], limit: int) -> list[tuple[NearToken, ...]]:
        self.asked.append(tuple(query.token for query in queries))
        return self._model.nearest(queries, limit)
