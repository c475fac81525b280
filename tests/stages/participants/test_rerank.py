"""Stage `rerank`: order, filters (Spec 33), a cross-encoder, and the audit trail (Specs 32 and 064)."""

from collections.abc import Mapping

import pytest

from schemas.errors import FailureCategory
from schemas.values.participants import PHQ8Item, RankedReferences, Reference, RetrievedReferences, ValidatedReferences
from stages.participants.rerank import rank_references, rerank_by_cross_encoder, retrieved_reference_events
from stages.texts.characters import short_hash
from tests.fakes.pair_scorer import FakePairScorer
from tests.refusals import failing
from tests.stages.at_defaults import settings
from tests.stages.participants.builders import evidence, reference

ITEM = PHQ8Item.SLEEP


def near(*similarities: float) -> list[Reference]:
    """References of five characters each, of chunks 1, 2, ..."""
    return [reference("12345", chunk_id=at, similarity=value) for at, value in enumerate(similarities, start=1)]


def long(*lengths: int) -> list[Reference]:
    return [reference("x" * length, chunk_id=at) for at, length in enumerate(lengths, start=1)]


def retrieved(*references: Reference) -> RetrievedReferences:
    items = {item: references if item is ITEM else () for item in PHQ8Item}
    return RetrievedReferences(index_id=7, items=items)


@pytest.mark.parametrize(
    ("references", "values", "kept", "dropped"),
    [
        (near(0.9, 0.1), {"min_reference_similarity": 0.5}, [1], {"threshold": 1}),
        (near(0.5, 0.4999), {"min_reference_similarity": 0.5}, [1], {"threshold": 1}),  # the threshold itself is kept
        (near(0.0), {"min_reference_similarity": 0}, [1], {}),  # 0 is off
        (near(0.2, 0.9, 0.5), {}, [2, 3], {"top_k": 1}),
        (near(0.9, 0.8), {"max_reference_chars_per_item": 5}, [1], {"budget": 1}),
        (long(5, 5, 5), {"top_k_references": 3, "max_reference_chars_per_item": 0}, [1, 2, 3], {}),  # no budget
        (long(5, 5, 5), {"top_k_references": 3, "max_reference_chars_per_item": 10}, [1, 2], {"budget": 1}),
        (long(5, 5, 5), {"top_k_references": 3, "max_reference_chars_per_item": 9}, [1], {"budget": 2}),
        # The budget ends at the first reference beyond it, though a later one would fit.
        (long(5, 9, 1), {"top_k_references": 3, "max_reference_chars_per_item": 10}, [1], {"budget": 2}),
        (long(11, 1, 1), {"top_k_references": 3, "max_reference_chars_per_item": 10}, [], {"budget": 3}),
    ],
)
def test_references_are_ordered_and_filtered_by_threshold_top_k_and_budget(
    references: list[Reference], values: dict[str, float], kept: list[int], dropped: dict[str, int]
) -> None:
    ranked = rank_references(retrieved(*references), settings(embedding=values))

    assert [one.chunk_id for one in ranked.items[ITEM]] == kept
    assert (ranked.ranker, ranked.dropped) == ("similarity", {ITEM: dropped} if dropped else {})


def test_a_repeated_reference_is_replaced_by_the_next_and_counted() -> None:
    # The second shares 6 of 8 lines with the first; the third is of another transcript.
    places = (302, 5), (302, 6), (303, 6), (302, 9)
    windows = [
        reference(chunk_id=at, similarity=1 - at / 10).model_copy(update={"participant_id": person, "ordinal": ordinal})
        for at, (person, ordinal) in enumerate(places)
    ]

    ranked = rank_references(retrieved(*windows), settings(ragq={"deduplicate_references": True}))

    assert ranked.items[ITEM] == (windows[0], windows[2])
    assert ranked.dropped == {ITEM: {"duplicate": 1, "top_k": 1}}


EVIDENCE = evidence({ITEM: ("i wake up at four", "i sleep badly")})
TEXTS = {1: "we went fishing", 2: "i sleep badly at four", 3: "i wake up"}
NEAR, NEARER, FAR = (reference(TEXTS[at], chunk_id=at, similarity=near) for at, near in ((2, 0.7), (1, 0.9), (3, 0.2)))


async def rerank(
    scorer: FakePairScorer, *references: Reference, texts: Mapping[int, str] = TEXTS, **values: object
) -> RankedReferences:
    return await rerank_by_cross_encoder(
        retrieved(*references),
        extracted=EVIDENCE,
        chunk_texts=texts,
        scorer=scorer,
        settings=settings(embedding=values),
    )


async def test_references_are_ordered_by_the_cross_encoder_and_keep_both_scores() -> None:
    scorer = FakePairScorer()

    ranked = await rerank(scorer, NEARER, NEAR)

    # The evidence shares i, sleep, badly, at and four with chunk 2, and nothing with chunk 1.
    kept = NEAR.model_copy(update={"rerank_score": 4.0}), NEARER.model_copy(update={"rerank_score": -1.0})
    assert ranked == RankedReferences(
        ranker="cross_encoder fake-cross-encoder",
        ranker_digest="digest of fake-cross-encoder",
        items={item: kept if item is ITEM else () for item in PHQ8Item},
        dropped={},
    )
    assert scorer.calls == [("i wake up at four\ni sleep badly", [TEXTS[1], TEXTS[2]])]


async def test_the_threshold_precedes_and_top_k_and_budget_follow_the_cross_encoder() -> None:
    scorer = FakePairScorer()

    ranked = await rerank(scorer, NEARER, NEAR, FAR, min_reference_similarity=0.5, top_k_references=1)
    too_long = await rerank(scorer, NEARER, NEAR, max_reference_chars_per_item=20)

    assert scorer.calls[0][1] == [TEXTS[1], TEXTS[2]]
    assert [ref.chunk_id for ref in ranked.items[ITEM]] == [2]
    assert ranked.dropped == {ITEM: {"threshold": 1, "top_k": 1}}
    assert too_long.dropped == {ITEM: {"budget": 2}}


async def test_a_text_that_changed_is_not_scored() -> None:
    with failing(FailureCategory.REFERENCE_ARTIFACT_CORRUPT, "another text"):
        await rerank(FakePairScorer(), NEAR, texts={2: "x"})


def test_two_references_give_two_events_with_exactly_these_fields() -> None:
    first = reference("first chunk", chunk_id=303, similarity=0.9, score=2)
    second = reference("second chunk", chunk_id=304, similarity=0.8, score=None)
    validated = ValidatedReferences(validator=None, items={PHQ8Item.SLEEP: (first, second)}, verdicts={})

    event = {
        "item": "Sleep",
        "evidence_key": "PHQ8_Sleep",
        "rank": 1,
        "similarity": 0.9,
        "participant_id": 303,
        "reference_score": 2,
        "chunk_hash": short_hash("first chunk"),
        "chunk_chars": 11,
    }
    other = {"rank": 2, "similarity": 0.8, "participant_id": 304, "reference_score": None, "chunk_chars": 12}
    assert retrieved_reference_events(validated) == [event, event | other | {"chunk_hash": short_hash("second chunk")}]
