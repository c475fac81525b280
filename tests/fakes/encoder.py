"""The port TextEncoder without a model."""

import hashlib
from collections.abc import Sequence

import numpy as np

from stages.ports import Vectors


class FakeEncoder:
    """Unit vectors drawn from a hash of the words, so that equal texts are equal on every machine.

    A word is a token; words beyond `max_tokens` are cut. `passes` keeps the texts of every call of `encode`.
    """

    name = "fake-encoder"
    digest = "fake-weights"
    dtype = "float32"

    def __init__(self, *, dimension: int = 8, max_tokens: int = 256) -> None:
        self.dimension = dimension
        self.max_tokens = max_tokens
        self.passes: list[tuple[str, ...]] = []

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.passes.append(tuple(texts))
        rows = [self._vector(text.split()[: self.max_tokens]) for text in texts]
        return np.asarray(rows, dtype=np.float32).reshape(len(rows), self.dimension)

    def count_whole_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    @property
    def forward_passes(self) -> int:
        return sum(map(bool, self.passes))

    def _vector(self, words: Sequence[str]) -> Vectors:
        seed = hashlib.sha256(" ".join(words).encode()).digest()
        row = np.random.default_rng(list(seed)).standard_normal(self.dimension)
        return np.asarray(row / np.linalg.norm(row), dtype=np.float32)
