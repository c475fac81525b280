"""Who orders the candidates of a query: rankers by name. Each is built for one query and its candidates."""

from collections.abc import Sequence
from typing import Protocol

from stages.queries.candidates import RankingCandidate


class Ranker(Protocol):
    """Scores passages against the question as it was asked."""

    @property
    def name(self) -> str:
        """What ran, with its model where it has one of its own: `cross-encoder bge-reranker-base`."""
        ...

    async def scores(self, query: str, candidates: Sequence[RankingCandidate]) -> list[float]:
        """A finite number per candidate, in order; higher is better, and scales differ between rankers.

        No candidate gives an empty list without asking anyone.
        """
        ...
