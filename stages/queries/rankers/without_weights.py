"""A cross-encoder, and the ranker that takes its place where its weights cannot be loaded."""

from collections.abc import Sequence

from schemas.errors import RerankerUnavailableError
from stages.queries.rankers.cross_encoder import CrossEncoderRanker
from stages.queries.rankers.score_fusion import ScoreFusion
from stages.queries.ranking import RankingCandidate


class WithoutWeights:
    """Scores by the cross-encoder; by the other ranker when it cannot be loaded, which the name then states."""

    def __init__(self, cross_encoder: CrossEncoderRanker, instead: ScoreFusion) -> None:
        self._cross_encoder = cross_encoder
        self._instead = instead
        self._is_unavailable = False

    @property
    def name(self) -> str:
        if self._is_unavailable:
            return f"{self._instead.name}, without the weights of {self._cross_encoder.scorer.name}"
        return self._cross_encoder.name

    async def scores(self, query: str, candidates: Sequence[RankingCandidate]) -> list[float]:
        try:
            return await self._cross_encoder.scores(query, candidates)
        except RerankerUnavailableError:
            self._is_unavailable = True
            return await self._instead.scores(query, candidates)
