"""Ranker `none`: the order of the fused list."""

from collections.abc import Sequence
from typing import NamedTuple

from stages.queries.ranking import RankingCandidate

NO_RANKER = "none"


class NoRanker(NamedTuple):
    """The fused scores, unchanged."""

    @property
    def name(self) -> str:
        return NO_RANKER

    async def scores(self, query: str, candidates: Sequence[RankingCandidate]) -> list[float]:
        return [candidate.hit.fused_score for candidate in candidates]
