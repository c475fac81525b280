"""Stage `rerank`: order, filters (Spec 33), a cross-encoder, and the audit trail (Specs 32 and 064)."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import FailureCategory
from schemas.settings.groups import EmbeddingSettings
from schemas.values.participants import (
    PHQ8Item,
    RankedReferences,
    Reference,
    RetrievedReferences,
    ValidatedReferences,
)
from stages.participants.chunking import window_starts
from stages.participants.rerank import (
    rank_references,
    repeats,
    rerank_by_cross_encoder,
    retrieved_reference_events,
)
from stages.texts.characters import short_hash
from tests.fakes.pair_scorer import FakePairScorer
from tests.refusals import failing
from tests.stages.at_defaults import RUN, settings
from tests.stages.participants.builders import evidence, reference

ITEM = PHQ8Item.SLEEP
GOOD = reference("good", chunk_id=1, similarity=0.9)
BAD = reference("bad", chunk_id=2, similarity=0.1)


def filtered(
    references: Sequence[Reference], *, min_similarity: float, top_k: int, max_chars: int, deduplicate: bool = False
) -> tuple[tuple[Reference, ...], dict[str, int]]:
    """The references of one item after the filters of these settings, and what each filter dropped."""
    embedding = {
        "min_reference_similarity": min_similarity,
        "top_k_references": top_k,
        "max_reference_chars_per_item": max_chars,
    }
    retrieved = RetrievedReferences(index_id=7, excluded_participant=300, items={ITEM: tuple(references)})
    run = settings(embedding=embedding, ragq={"deduplicate_references": deduplicate})
    ranked = rank_references(retrieved, run)
    return ranked.items[ITEM], ranked.dropped.get(ITEM, {})


def test_reference_threshold_filters_low_similarity() -> None:
    assert filtered([GOOD, BAD], min_similarity=0.5, top_k=2, max_chars=0) == ((GOOD,), {"threshold": 1})


def test_reference_budget_limits_included_matches() -> None:
    first, second = (reference("12345", chunk_id=at, similarity=1 - at / 10) for at in (1, 2))

    assert filtered([first, second], min_similarity=0, top_k=3, max_chars=5) == ((first,), {"budget": 1})


def test_defaults_preserve_existing_selection() -> None:
    low, high, mid = (reference(chunk_id=at, similarity=near) for at, near in ((1, 0.2), (2, 0.9), (3, 0.5)))
    retrieved = RetrievedReferences(index_id=7, excluded_participant=300, items={PHQ8Item.SLEEP: (low, high, mid)})

    assert rank_references(retrieved, RUN) == RankedReferences(
        ranker="similarity", items={PHQ8Item.SLEEP: (high, mid)}, dropped={PHQ8Item.SLEEP: {"top_k": 1}}
    )


@pytest.mark.parametrize(
    ("similarity", "min_similarity", "is_kept"),
    [(0.5, 0.5, True), (0.4999, 0.5, False), (0.0, 0.0, True), (1.0, 1.0, True)],
)
def test_the_threshold_itself_is_kept_and_zero_is_off(similarity: float, min_similarity: float, is_kept: bool) -> None:
    near = reference(similarity=similarity)

    kept, _ = filtered([near], min_similarity=min_similarity, top_k=2, max_chars=0)

    assert kept == ((near,) if is_kept else ())


@pytest.mark.parametrize(
    ("lengths", "max_chars", "kept"),
    [
        ((5, 5, 5), 0, 3),  # 0 is no budget
        ((5, 5, 5), 10, 2),  # 5 + 5 = 10 fits
        ((5, 5, 5), 9, 1),
        ((5, 9, 1), 10, 1),  # 5 + 9 is beyond; the third would fit and is not reached
        ((11, 1, 1), 10, 0),
    ],
)
def test_the_budget_ends_at_the_first_reference_beyond_it(lengths: tuple[int, ...], max_chars: int, kept: int) -> None:
    references = [reference("x" * length, chunk_id=at) for at, length in enumerate(lengths)]

    found, _ = filtered(references, min_similarity=0, top_k=3, max_chars=max_chars)

    assert found == tuple(references[:kept])


def test_a_repeated_reference_is_replaced_by_the_next_and_counted() -> None:
    # Chunks 5, 6 and 7 of one transcript: the second shares 6 of 8 lines with the first, the third 4.
    references = tuple(
        reference(chunk_id=at, similarity=1 - at / 100).model_copy(update={"participant_id": 302, "ordinal": at})
        for at in (5, 6, 7, 9)
    )

    found = filtered(references, min_similarity=0, top_k=2, max_chars=0, deduplicate=True)

    assert found == ((references[0], references[2]), {"duplicate": 1, "top_k": 1})


def window(ordinal: int, *, participant: int = 302) -> Reference:
    return reference(chunk_id=ordinal + 1).model_copy(update={"participant_id": participant, "ordinal": ordinal})


@pytest.mark.parametrize(
    ("size", "step", "apart", "are_repeated"),
    [
        (8, 2, 1, True),  # 6 of 8 lines
        (8, 2, 2, False),  # 4 of 8, half of them
        (8, 2, 3, False),
        (8, 1, 3, True),  # 5 of 8
        (8, 8, 1, False),  # windows that do not overlap
        (2, 1, 1, False),
        (8, 2, 0, True),  # the same chunk twice
    ],
)
def test_windows_repeat_when_they_share_more_than_half(size: int, step: int, apart: int, are_repeated: bool) -> None:
    embedding = EmbeddingSettings(chunk_size=size, chunk_step=step)
    first, second = window(9), window(9 + apart)

    assert repeats(first, second, embedding) is repeats(second, first, embedding) is are_repeated


@given(
    lines=st.integers(8, 60),
    size=st.integers(2, 8),
    step=st.integers(1, 8),
    chosen=st.tuples(st.integers(), st.integers()),
)
def test_whole_windows_repeat_by_place_when_they_share_more_than_half_of_their_lines(
    lines: int, size: int, step: int, chosen: tuple[int, int]
) -> None:
    step = min(step, size)
    starts = [start for start in window_starts(lines, size=size, step=step) if start % step == 0]
    first, second = (number % len(starts) for number in chosen)
    shared = set(range(starts[first], starts[first] + size)) & set(range(starts[second], starts[second] + size))

    embedding = EmbeddingSettings(chunk_size=size, chunk_step=step)
    assert repeats(window(first), window(second), embedding) == (len(shared) > size / 2)


EVIDENCE = evidence({ITEM: ("i wake up at four", "i sleep badly")})
TEXTS = {1: "we went fishing", 2: "i sleep badly at four", 3: "i wake up"}
NEAR, NEARER, FAR = (reference(TEXTS[at], chunk_id=at, similarity=near) for at, near in ((2, 0.7), (1, 0.9), (3, 0.2)))


def retrieved(*references: Reference) -> RetrievedReferences:
    items = {item: references if item is ITEM else () for item in PHQ8Item}
    return RetrievedReferences(index_id=7, excluded_participant=300, items=items)


async def test_references_are_ordered_by_the_cross_encoder_and_keep_both_scores() -> None:
    scorer = FakePairScorer()

    ranked = await rerank_by_cross_encoder(
        retrieved(NEARER, NEAR), extracted=EVIDENCE, chunk_texts=TEXTS, scorer=scorer, settings=RUN
    )

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

    ranked = await rerank_by_cross_encoder(
        retrieved(NEARER, NEAR, FAR),
        extracted=EVIDENCE,
        chunk_texts=TEXTS,
        scorer=scorer,
        settings=settings(embedding={"min_reference_similarity": 0.5, "top_k_references": 1}),
    )
    too_long = await rerank_by_cross_encoder(
        retrieved(NEARER, NEAR),
        extracted=EVIDENCE,
        chunk_texts=TEXTS,
        scorer=scorer,
        settings=settings(embedding={"max_reference_chars_per_item": 20}),
    )

    assert scorer.calls[0][1] == [TEXTS[1], TEXTS[2]]
    assert [ref.chunk_id for ref in ranked.items[ITEM]] == [2]
    assert ranked.dropped == {ITEM: {"threshold": 1, "top_k": 1}}
    assert too_long.dropped == {ITEM: {"budget": 2}}


async def test_a_text_that_changed_is_not_scored() -> None:
    with failing(FailureCategory.REFERENCE_ARTIFACT_CORRUPT, "another text"):
        await rerank_by_cross_encoder(
            retrieved(NEAR), extracted=EVIDENCE, chunk_texts={2: "x"}, scorer=FakePairScorer(), settings=RUN
        )


def test_two_references_give_two_events_with_exactly_these_fields() -> None:
    first = reference("first chunk", chunk_id=303, similarity=0.9, score=2)
    second = reference("second chunk", chunk_id=304, similarity=0.8, score=None)
    validated = ValidatedReferences(validator=None, items={PHQ8Item.SLEEP: (first, second)}, verdicts={})

    assert retrieved_reference_events(validated) == [
        {
            "item": "Sleep",
            "evidence_key": "PHQ8_Sleep",
            "rank": 1,
            "similarity": 0.9,
            "participant_id": 303,
            "reference_score": 2,
            "chunk_hash": short_hash("first chunk"),
            "chunk_chars": 11,
        },
        {
            "item": "Sleep",
            "evidence_key": "PHQ8_Sleep",
            "rank": 2,
            "similarity": 0.8,
            "participant_id": 304,
            "reference_score": None,
            "chunk_hash": short_hash("second chunk"),
            "chunk_chars": 12,
        },
    ]
