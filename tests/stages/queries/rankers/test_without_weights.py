"""The ranker that takes the place of a cross-encoder without weights."""

import numpy as np
import pytest

from schemas.errors import RerankError, RerankerUnavailableError
from stages.queries.ranking import CrossEncoderRanker, ScoreFusion, WithoutWeights
from tests.fakes.pair_scorer import FakePairScorer
from tests.stages.queries.builders import candidate

VECTOR = np.array([1, 0], dtype=np.float32)
FUSION = ScoreFusion(VECTOR, {1: VECTOR, 2: -VECTOR}, {})
CANDIDATES = [candidate(1), candidate(2)]


def broken(error: Exception) -> FakePairScorer:
    def fail(query: str, passage: str) -> float:
        raise error

    return FakePairScorer(fail)


def ranker(scorer: FakePairScorer) -> WithoutWeights:
    return WithoutWeights(CrossEncoderRanker(scorer, timeout_s=9, batch_size=8, max_tokens=512), FUSION)


async def test_a_cross_encoder_that_can_be_loaded_ranks() -> None:
    both = ranker(FakePairScorer())

    scores = await both.scores("Why?", CANDIDATES)

    assert scores == await CrossEncoderRanker(FakePairScorer(), 9, 8, 512).scores("Why?", CANDIDATES)
    assert both.name.startswith("cross-encoder")


async def test_without_its_weights_the_scores_of_both_searches_rank_and_the_name_states_it() -> None:
    scorer = broken(RerankerUnavailableError("bge cannot be loaded"))
    both = ranker(scorer)

    scores = await both.scores("Why?", CANDIDATES)

    assert scores == await FUSION.scores("Why?", CANDIDATES)
    assert both.name == f"score-fusion, without the weights of {scorer.name}"


async def test_other_errors_of_the_cross_encoder_are_errors() -> None:
    with pytest.raises(RerankError, match="not finite"):
        await ranker(broken(RerankError("not finite"))).scores("Why?", CANDIDATES)
