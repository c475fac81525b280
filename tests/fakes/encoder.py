"""The port TextEncoder without a model."""

from collections.abc import Sequence

import numpy as np

from stages.ports import Vectors
from stages.vectors import unit_rows
from tests.fakes.embedder import hash_vector


class FakeEncoder:
    """Unit vectors made of a hash of the words, so that equal texts are equal on every machine.

    A word is a token; words beyond `max_tokens` are cut. `passes` keeps the texts of every call of `encode`.
    """

    name = "fake-encoder"
    digest = "fake-weights"
    dtype = "float32"
    dimension = 8
    max_tokens = 256

    def __init__(self) -> None:
        self.passes: list[tuple[str, ...]] = []

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.passes.append(tuple(texts))
        rows = [hash_vector(" ".join(text.split()[: self.max_tokens])) for text in texts]
        return unit_rows(np.array(rows, dtype=np.float32).reshape(-1, self.dimension), rows=len(rows))

    def count_whole_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]
