"""Rankers, which order the candidates of a query. Each is built for one query and its candidates."""

from collections.abc import Sequence
from typing import Protocol

from stages.queries.ranking import RankingCandidate


class Ranker(Protocol):
    """Scores passages against the original query."""

    @property
    def name(self) -> str:
        """The ranker, and its model if it has one: `cross-encoder bge-reranker-base`."""
        ...

    async def scores(self, query: str, candidates: Sequence[RankingCandidate]) -> list[float]:
        """A finite number per candidate, in order; higher is better, and scales differ between rankers.

        Without candidates the list is empty and no model is called.
        """
        ...
