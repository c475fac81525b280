"""The port PairScorer without a model."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from schemas.errors import LLMTimeoutError


def shared_words(query: str, passage: str) -> float:
    """Words that the passage has in common with the query, less one: a fit may be below 0."""
    return float(len(set(query.split()) & set(passage.split()))) - 1


@dataclass
class FakePairScorer:
    """A PairScorer that asks `score_of` for each pair. `calls` keeps query and passages of each call, in order."""

    score_of: Callable[[str, str], float] = shared_words
    name: str = "fake-cross-encoder"
    calls: list[tuple[str, list[str]]] = field(default_factory=list)
    delay_s: float = 0.0

    async def digest(self) -> str:
        return "digest of fake-cross-encoder"

    async def score_pairs(
        self, query: str, passages: Sequence[str], *, timeout_s: float, batch_size: int, max_tokens: int
    ) -> list[float]:
        if not passages:
            return []
        self.calls.append((query, list(passages)))
        if self.delay_s > timeout_s:
            raise LLMTimeoutError(timeout_s)
        await asyncio.sleep(self.delay_s)
        return [self.score_of(query, passage) for passage in passages]
