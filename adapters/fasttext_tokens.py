"""A FastText model of tokens, which embeds unknown words by their character n-grams."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adapters.npz import packed, unpacked
from stages.tags.ports import Vector


class FastTextTokens:
    """The port TokenVectors over the bytes of a file that `tokens_file` made.

    The vector of a word that is not in the vocabulary is the mean of its known character n-grams. Without any, or in a
    model without n-grams, it has no vector.
    """

    def __init__(self, data: bytes) -> None:
        self.digest = hashlib.sha256(data).hexdigest()
        arrays, description = unpacked(data)
        self.name: str = description["name"]
        self._tokens: list[str] = description["tokens"]
        self._pieces: tuple[int, int, int] = tuple(description["pieces"])
        self._vectors: NDArray[np.float32] = arrays["vectors"]
        self._ngrams: NDArray[np.float32] = arrays["ngrams"]
        self._rows = {int(bucket): row for row, bucket in enumerate(arrays["buckets"])}
        self.dimension = int(self._vectors.shape[1])

    @cached_property
    def _places(self) -> dict[str, int]:
        return {token: place for place, token in enumerate(self._tokens)}

    def vectors_of(self, tokens: Sequence[str]) -> Mapping[str, Vector]:
        """See TokenVectors."""
        found = ((token, self._vector(token)) for token in tokens)
        return {token: vector for token, vector in found if vector is not None}

    def _vector(self, token: str) -> Vector | None:
        if token in self._places:
            found: Vector = self._vectors[self._places[token]]
            return found
        if not self._rows or not token:
            return None
        known = [self._rows[bucket] for bucket in buckets_of(token, *self._pieces) if bucket in self._rows]
        if not known:
            return None
        mean = self._ngrams[known].astype(np.float64).mean(axis=0)
        length = float(np.linalg.norm(mean))
        return np.asarray(mean / length, dtype=np.float32) if length > 0 else None


def buckets_of(token: str, shortest: int, longest: int, buckets: int) -> list[int]:
    """The buckets of the character n-grams of a token, by FastText's hash."""
    from gensim.models.fasttext import ft_ngram_hashes  # type: ignore[import-untyped]

    return [int(bucket) for bucket in ft_ngram_hashes(token, shortest, longest, buckets)]


def tokens_file(
    name: str,
    tokens: Sequence[str],
    vectors: NDArray[np.float32],
    *,
    pieces: tuple[int, int, int] = (0, 0, 0),
    buckets: Sequence[int] = (),
    ngrams: NDArray[np.float32] | None = None,
) -> bytes:
    """The bytes of a model: one row of length 1 per token, one row per bucket of n-grams.

    `pieces` are the shortest and the longest n-gram and the number of buckets.
    """
    nothing = np.empty((0, vectors.shape[1]), dtype=np.float32)
    arrays: dict[str, NDArray[Any]] = {
        "vectors": vectors,
        "buckets": np.asarray(buckets, dtype=np.int64),
        "ngrams": nothing if ngrams is None else ngrams,
    }
    return packed(arrays, {"name": name, "tokens": list(tokens), "pieces": list(pieces)})
