"""Ranker `late-interaction`: token vectors compared one by one (MaxSim; Khattab and Zaharia, SIGIR 2020)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from schemas.errors import TokenVectorsMissingError
from stages.ports import Vectors
from stages.queries.candidates import RankingCandidate

LATE_INTERACTION = "late-interaction"


class LateInteraction(NamedTuple):
    """The mean, over the tokens of the query, of the cosine with the nearest token of the chunk."""

    model: str
    query_tokens: Vectors
    """One row per token."""
    chunk_tokens: Mapping[int, Vectors]
    """By chunk id."""

    @property
    def name(self) -> str:
        return f"{LATE_INTERACTION} {self.model}"

    async def scores(self, query: str, candidates: Sequence[RankingCandidate]) -> list[float]:
        return self.of_chunks([candidate.chunk.id for candidate in candidates])

    def of_chunks(self, ids: Sequence[int]) -> list[float]:
        """The score of each chunk, in order. Raises TokenVectorsMissingError."""
        if missing := [id_ for id_ in ids if not len(self.chunk_tokens.get(id_, ()))]:
            raise TokenVectorsMissingError(missing)
        return [max_sim(self.query_tokens, self.chunk_tokens[id_]) for id_ in ids]


def max_sim(query_tokens: Vectors, chunk_tokens: Vectors) -> float:
    """The mean over the query's tokens of their greatest cosine with a token of the chunk, -1 to 1.

    ColBERT uses the sum, which gives the same order but depends on the length of the query. A row of zeros has the
    cosine 0.
    """
    # BLAS would split so small a product among threads, which takes a hundred times as long on a busy machine.
    cosines = np.einsum("qd,td->qt", _units(query_tokens), _units(chunk_tokens))
    return float(cosines.max(axis=1).mean())


def _units(matrix: Vectors) -> Vectors:
    rows = matrix.astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths == 0, 1, lengths), dtype=np.float32)
