"""Stage `rerank` with a cross-encoder."""

import pytest

from schemas.errors import ReferenceTextError
from schemas.values.participants import PHQ8Item, RankedReferences, Reference, RetrievedReferences
from tests.fakes.pair_scorer import FakePairScorer
from tests.stages.at_defaults import reference_filters, rerank_by_cross_encoder
from tests.stages.participants.builders import evidence, reference

SLEEP = PHQ8Item.SLEEP
EVIDENCE = evidence({SLEEP: ("i wake up at four", "i sleep badly")})
TEXTS = {1: "we went fishing", 2: "i sleep badly at four", 3: "i wake up"}
NEAR, NEARER, FAR = (reference(TEXTS[at], chunk_id=at, similarity=near) for at, near in ((2, 0.7), (1, 0.9), (3, 0.2)))


def retrieved(*references: Reference) -> RetrievedReferences:
    items = {item: references if item is SLEEP else () for item in PHQ8Item}
    return RetrievedReferences(index_id=7, excluded_participant=300, items=items)


async def test_references_are_ordered_by_the_cross_encoder_and_keep_both_scores() -> None:
    scorer = FakePairScorer()

    ranked = await rerank_by_cross_encoder(
        retrieved(NEARER, NEAR), extracted=EVIDENCE, chunk_texts=TEXTS, scorer=scorer, timeout_s=60
    )

    # The evidence shares i, sleep, badly, at and four with chunk 2, and nothing with chunk 1.
    kept = NEAR.model_copy(update={"rerank_score": 4.0}), NEARER.model_copy(update={"rerank_score": -1.0})
    assert ranked == RankedReferences(
        ranker="cross_encoder fake-cross-encoder",
        ranker_digest="digest of fake-cross-encoder",
        items={item: kept if item is SLEEP else () for item in PHQ8Item},
        dropped={},
    )
    assert scorer.calls == [("i wake up at four\ni sleep badly", [TEXTS[1], TEXTS[2]])]


async def test_the_threshold_precedes_and_top_k_and_budget_follow_the_cross_encoder() -> None:
    scorer = FakePairScorer()

    ranked = await rerank_by_cross_encoder(
        retrieved(NEARER, NEAR, FAR),
        extracted=EVIDENCE,
        chunk_texts=TEXTS,
        scorer=scorer,
        timeout_s=60,
        filters=reference_filters(min_similarity=0.5, top_k=1),
    )
    too_long = await rerank_by_cross_encoder(
        retrieved(NEARER, NEAR),
        extracted=EVIDENCE,
        chunk_texts=TEXTS,
        scorer=scorer,
        timeout_s=60,
        filters=reference_filters(max_chars=20),
    )

    assert scorer.calls[0][1] == [TEXTS[1], TEXTS[2]]
    assert [ref.chunk_id for ref in ranked.items[SLEEP]] == [2]
    assert ranked.dropped == {SLEEP: {"threshold": 1, "top_k": 1}}
    assert too_long.dropped == {SLEEP: {"budget": 2}}


async def test_a_text_that_changed_is_not_scored() -> None:
    with pytest.raises(ReferenceTextError, match="another text"):
        await rerank_by_cross_encoder(
            retrieved(NEAR), extracted=EVIDENCE, chunk_texts={2: "x"}, scorer=FakePairScorer(), timeout_s=60
        )
