"""Ranker `cross-encoder`: a model that reads query and passage together."""

from collections.abc import Sequence
from typing import NamedTuple

from stages.ports import PairScorer
from stages.queries.ranking import RankingCandidate

CROSS_ENCODER = "cross-encoder"


class CrossEncoderRanker(NamedTuple):
    """The raw logits of the pairs of query and enriched content."""

    scorer: PairScorer
    timeout_s: float
    batch_size: int
    max_tokens: int

    @property
    def name(self) -> str:
        return f"{CROSS_ENCODER} {self.scorer.name}"

    async def scores(self, query: str, candidates: Sequence[RankingCandidate]) -> list[float]:
        passages = [candidate.enriched_content for candidate in candidates]
        return await self.scorer.score_pairs(
            query, passages, timeout_s=self.timeout_s, batch_size=self.batch_size, max_tokens=self.max_tokens
        )
