"""Ranker `score-fusion`: no model of its own; both legs' scores, made comparable over the candidates."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas.errors import ChunksGoneError
from schemas.values.queries import Leg, QueryText, RetrievedChunks
from stages.queries.candidates import Candidate
from stages.queries.fusion import lowest_score
from stages.queries.normalise import z_scores

SCORE_FUSION = "score-fusion"


class ScoreFusion(NamedTuple):
    """z(cosine) + z(full-text score), both of the question as it was asked, over the candidates."""

    cosines: Mapping[int, float]
    """By chunk id, one for every candidate, whichever leg found it; ChunksGoneError where one is missing."""
    lexical: Mapping[int, float]
    """By chunk id; those that are absent have `lexical_floor`."""
    lexical_floor: float

    @property
    def name(self) -> str:
        return SCORE_FUSION

    async def scores(self, query: str, candidates: Sequence[Candidate]) -> list[float]:
        ids = [candidate.chunk.id for candidate in candidates]
        if gone := [id_ for id_ in ids if id_ not in self.cosines]:
            raise ChunksGoneError(gone)
        dense = z_scores(np.array([self.cosines[id_] for id_ in ids]))
        lexical = z_scores(np.array([self.lexical.get(id_, self.lexical_floor) for id_ in ids]))
        return [float(score) for score in dense + lexical]


def score_fusion(
    retrieved: RetrievedChunks,
    query_vector: NDArray[np.float32],
    chunk_vectors: Mapping[int, NDArray[np.float32]],
    *,
    lexical_limit: int,
) -> ScoreFusion:
    """The ranker for what was retrieved. All vectors have length 1 or are zeros; the query's is that of its original.

    The full-text score of a chunk that the list of the original leaves out is `lowest_score`; without such a list it
    is the same for all chunks, and cosines alone decide.
    """
    cosines = {id_: float(vector.astype(np.float64) @ query_vector) for id_, vector in chunk_vectors.items()}
    for ranked in retrieved.lists:
        if ranked.leg is Leg.LEXICAL and ranked.text is QueryText.ORIGINAL:
            scores = {hit.chunk_id: hit.score for hit in ranked.hits}
            return ScoreFusion(cosines, scores, lowest_score(ranked, lexical_limit=lexical_limit))
    return ScoreFusion(cosines, {}, 0.0)
