"""Ranker `score-fusion`: the scores of both searches, made comparable over the candidates, without a further model."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas.errors import ChunksGoneError
from stages.queries.ranking import RankingCandidate, z_scores

SCORE_FUSION = "score-fusion"


class ScoreFusion(NamedTuple):
    """z(cosine) + z(full-text score), both of the original query, over the candidates.

    Both are computed for every candidate, whichever search found it: giving a candidate that only one search listed the
    worst score of the other measured worse than the fused list itself.
    """

    query_vector: NDArray[np.float32]
    """Of length 1."""
    chunk_vectors: Mapping[int, NDArray[np.float32]]
    """By chunk id, of length 1; ChunksGoneError where one is missing."""
    lexical_scores: Mapping[int, float]
    """By chunk id; a chunk that is absent does not match and scores 0."""

    @property
    def name(self) -> str:
        return SCORE_FUSION

    async def scores(self, query: str, candidates: Sequence[RankingCandidate]) -> list[float]:
        ids = [candidate.chunk.id for candidate in candidates]
        if gone := [id_ for id_ in ids if id_ not in self.chunk_vectors]:
            raise ChunksGoneError(gone)
        cosines = np.array([float(self.chunk_vectors[id_].astype(np.float64) @ self.query_vector) for id_ in ids])
        lexical = np.array([self.lexical_scores.get(id_, 0.0) for id_ in ids])
        return [float(score) for score in z_scores(cosines) + z_scores(lexical)]
