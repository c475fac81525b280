"""Rankers: a cross-encoder, the scores of both searches, and the former without weights."""

from collections.abc import Mapping

import numpy as np
import pytest

from schemas.errors import ChunksGoneError, LLMTimeoutError, RerankError, RerankerUnavailableError
from stages.queries.ranking import CrossEncoderRanker, ScoreFusion, WithoutWeights
from tests.fakes.pair_scorer import FakePairScorer
from tests.stages.at_defaults import cross_encoder_ranker
from tests.stages.queries.builders import candidate


async def test_the_enriched_contents_are_scored_against_the_question_in_order() -> None:
    scorer = FakePairScorer()
    ranker = cross_encoder_ranker(scorer, timeout_s=9)

    scores = await ranker.scores("why black tea", [candidate(1, "black tea leaf"), candidate(2, "bridges")])

    assert scores == [1.0, -1.0]
    assert scorer.calls == [("why black tea", ["black tea leaf", "bridges"])]
    assert ranker.name == "cross-encoder fake-cross-encoder"


async def test_errors_of_the_scorer_are_passed_on_unchanged() -> None:
    with pytest.raises(LLMTimeoutError):
        await cross_encoder_ranker(FakePairScorer(delay_s=99), timeout_s=9).scores("why", [candidate(1)])


EAST, NORTH = np.eye(2, dtype=np.float32)
VECTORS = {1: EAST, 2: NORTH, 3: -EAST}


async def scores(lexical: Mapping[int, float]) -> list[float]:
    ranker = ScoreFusion(EAST, VECTORS, lexical)
    found = await ranker.scores("?", [candidate(1), candidate(2), candidate(3)])
    return [round(score, 4) for score in found]


async def test_both_z_scores_are_added_over_the_candidates() -> None:
    # z(1, 0, -1) = 1.2247, 0, -1.2247 and z(2, 3, 1) = 0, 1.2247, -1.2247
    assert await scores({2: 3.0, 1: 2.0, 3: 1.0}) == [1.2247, 1.2247, -2.4495]


async def test_a_candidate_that_lost_its_vector_is_an_error() -> None:
    with pytest.raises(ChunksGoneError, match="chunk 3 first"):
        await ScoreFusion(EAST, {1: EAST}, {}).scores("?", [candidate(1), candidate(3)])


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
