"""Ranker `none`."""

from stages.queries.rankers.none import NoRanker
from tests.stages.queries.builders import candidate


async def test_the_fused_scores_are_kept() -> None:
    ranked = [candidate(1, fused_score=0.2), candidate(2, fused_score=-1.5)]

    assert (NoRanker().name, await NoRanker().scores("?", ranked)) == ("none", [0.2, -1.5])
