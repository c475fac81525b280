"""The contract of every PairScorer. New ones are added to the list."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.local_models import CrossEncoderScorer
from schemas.errors import LLMTimeoutError
from stages.ports import PairScorer
from tests.adapters.tiny_cross_encoder import tiny_cross_encoder
from tests.fakes.pair_scorer import FakePairScorer

QUERY = "i sleep badly"
ROUNDING = 1e-3
"""Who shares a batch shows in the last digits."""
PASSAGES = ["i wake up at four every night", "we went fishing", "nothing tastes good", "i sleep badly every night"]
LOADED = pytest.param("cross-encoder", marks=pytest.mark.servers)


@pytest.fixture(params=["fake", LOADED])
async def scorer(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[PairScorer]:
    if request.param == "fake":
        yield FakePairScorer(delay_s=0.01)
        return
    made = CrossEncoderScorer(str(tiny_cross_encoder(tmp_path)), threads=1)
    yield made
    await made.close()


async def test_there_is_one_logit_per_passage_in_order(scorer: PairScorer) -> None:
    logits = await scorer.score_pairs(QUERY, PASSAGES, timeout_s=60, batch_size=8, max_tokens=512)
    backwards = await scorer.score_pairs(QUERY, PASSAGES[::-1], timeout_s=60, batch_size=8, max_tokens=512)
    assert (len(logits), {type(logit) for logit in logits}) == (4, {float})
    assert backwards[::-1] == pytest.approx(logits, abs=ROUNDING)
    assert len(set(logits)) > 1


async def test_neither_a_second_call_nor_the_size_of_a_batch_changes_the_logits(scorer: PairScorer) -> None:
    first, again, alone = [
        await scorer.score_pairs(QUERY, PASSAGES, timeout_s=60, batch_size=size, max_tokens=512) for size in (8, 8, 1)
    ]
    assert first == again == pytest.approx(alone, abs=ROUNDING)


async def test_a_time_out_names_its_seconds(scorer: PairScorer) -> None:
    with pytest.raises(LLMTimeoutError, match="timed out after 1e-09s"):
        await scorer.score_pairs(QUERY, PASSAGES, timeout_s=1e-9, batch_size=8, max_tokens=512)


async def test_calls_at_the_same_time_get_their_own_logits(scorer: PairScorer) -> None:
    calls = [scorer.score_pairs(QUERY, [passage], timeout_s=60, batch_size=8, max_tokens=512) for passage in PASSAGES]
    together = [logit for (logit,) in await asyncio.gather(*calls)]
    assert together == pytest.approx(
        await scorer.score_pairs(QUERY, PASSAGES, timeout_s=60, batch_size=8, max_tokens=512), abs=ROUNDING
    )
