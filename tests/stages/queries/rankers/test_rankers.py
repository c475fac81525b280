"""Rankers: a cross-encoder, the scores of both searches, and the former without weights."""

from functools import partial

import numpy as np
import pytest

from schemas.errors import DomainError, FailureCategory, LLMTimeoutError, RerankerUnavailableError
from stages.queries.ranking import by_score_fusion
from tests.fakes.pair_scorer import FakePairScorer
from tests.refusals import failing
from tests.stages.at_defaults import by_cross_encoder
from tests.stages.queries.builders import candidate


async def test_the_enriched_contents_are_scored_against_the_question_in_order() -> None:
    scorer = FakePairScorer()

    ranked = await by_cross_encoder(
        "why black tea", [candidate(1, "black tea leaf"), candidate(2, "bridges")], scorer=scorer, timeout_s=9
    )

    assert ranked == ("cross-encoder fake-cross-encoder", [1.0, -1.0])
    assert scorer.calls == [("why black tea", ["black tea leaf", "bridges"])]


async def test_errors_of_the_scorer_are_passed_on_unchanged() -> None:
    with pytest.raises(LLMTimeoutError):
        await by_cross_encoder("why", [candidate(1)], scorer=FakePairScorer(delay_s=99), timeout_s=9)


EAST, NORTH = np.eye(2, dtype=np.float32)
VECTORS = {1: EAST, 2: NORTH, 3: -EAST}
FUSION = partial(by_score_fusion, query_vector=EAST, chunk_vectors=VECTORS, lexical_scores={2: 3.0, 1: 2.0, 3: 1.0})
CANDIDATES = [candidate(1), candidate(2), candidate(3)]


async def test_both_z_scores_are_added_over_the_candidates() -> None:
    by, scores = await FUSION("?", CANDIDATES)
    # z(1, 0, -1) = 1.2247, 0, -1.2247 and z(2, 3, 1) = 0, 1.2247, -1.2247
    assert (by, [round(score, 4) for score in scores]) == ("score-fusion", [1.2247, 1.2247, -2.4495])


async def test_a_candidate_that_lost_its_vector_is_an_error() -> None:
    with failing(FailureCategory.INPUT_CHANGED, "chunk 4 first"):
        await FUSION("?", [candidate(1), candidate(4)])


def broken(error: Exception) -> FakePairScorer:
    def fail(query: str, passage: str) -> float:
        raise error

    return FakePairScorer(fail)


async def test_a_cross_encoder_that_can_be_loaded_ranks() -> None:
    ranked = await by_cross_encoder("Why?", CANDIDATES, scorer=FakePairScorer(), timeout_s=9, instead=FUSION)

    assert ranked == await by_cross_encoder("Why?", CANDIDATES, scorer=FakePairScorer(), timeout_s=9)


async def test_without_its_weights_the_scores_of_both_searches_rank_and_the_name_states_it() -> None:
    scorer = broken(RerankerUnavailableError("bge cannot be loaded"))

    ranked = await by_cross_encoder("Why?", CANDIDATES, scorer=scorer, timeout_s=9, instead=FUSION)

    by, scores = await FUSION("Why?", CANDIDATES)
    assert ranked == (f"{by}, without the weights of {scorer.name}", scores)


async def test_other_errors_of_the_cross_encoder_are_errors() -> None:
    with failing(FailureCategory.RERANK_ERROR, "not finite"):
        await by_cross_encoder(
            "Why?",
            CANDIDATES,
            scorer=broken(DomainError("not finite", FailureCategory.RERANK_ERROR)),
            timeout_s=9,
            instead=FUSION,
        )
