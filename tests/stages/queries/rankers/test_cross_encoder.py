"""Ranker `cross-encoder`."""

import pytest

from schemas.errors import LLMTimeoutError
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
