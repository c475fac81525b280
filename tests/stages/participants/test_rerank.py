"""Stage `rerank`: order and filters (Spec 33)."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.values.participants import PHQ8Item, RankedReferences, Reference, RetrievedReferences
from stages.participants.rerank import Filtered, ReferenceFilters, Repeats, by_place, rank_references, reference_filters
from tests.stages.at_defaults import reference_filters as default_filters
from tests.stages.participants.builders import reference

ITEM = PHQ8Item.SLEEP
GOOD = reference("good", chunk_id=1, similarity=0.9)
BAD = reference("bad", chunk_id=2, similarity=0.1)


def rank(filters: ReferenceFilters, references: Sequence[Reference]) -> Filtered:
    """The references of one item after these filters."""
    retrieved = RetrievedReferences(index_id=7, excluded_participant=300, items={ITEM: tuple(references)})
    ranked = rank_references(retrieved, filters=filters)
    return Filtered(ranked.items[ITEM], ranked.dropped.get(ITEM, {}))


def filtered(
    references: Sequence[Reference],
    *,
    min_similarity: float,
    top_k: int,
    max_chars: int,
    repeats: Repeats | None = None,
) -> Filtered:
    """The references of one item after the filters of these settings."""
    return rank(
        reference_filters(min_similarity=min_similarity, top_k=top_k, max_chars=max_chars, repeats=repeats), references
    )


def test_reference_threshold_filters_low_similarity() -> None:
    assert filtered([GOOD, BAD], min_similarity=0.5, top_k=2, max_chars=0) == Filtered((GOOD,), {"threshold": 1})


def test_reference_budget_limits_included_matches() -> None:
    first, second = (reference("12345", chunk_id=at, similarity=1 - at / 10) for at in (1, 2))

    assert filtered([first, second], min_similarity=0, top_k=3, max_chars=5) == Filtered((first,), {"budget": 1})


def test_defaults_preserve_existing_selection() -> None:
    low, high, mid = (reference(chunk_id=at, similarity=near) for at, near in ((1, 0.2), (2, 0.9), (3, 0.5)))
    retrieved = RetrievedReferences(index_id=7, excluded_participant=300, items={PHQ8Item.SLEEP: (low, high, mid)})

    assert rank_references(retrieved, filters=default_filters()) == RankedReferences(
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

    guarded = filtered(references, min_similarity=0, top_k=3, max_chars=max_chars)

    assert guarded.kept == tuple(references[:kept])


def test_a_repeated_reference_is_replaced_by_the_next_and_counted() -> None:
    # Chunks 5, 6 and 7 of one transcript: the second shares 6 of 8 lines with the first, the third 4.
    references = tuple(
        reference(chunk_id=at, similarity=1 - at / 100).model_copy(update={"participant_id": 302, "ordinal": at})
        for at in (5, 6, 7, 9)
    )

    guarded = filtered(references, min_similarity=0, top_k=2, max_chars=0, repeats=by_place(size=8, step=2))

    assert guarded == Filtered((references[0], references[2]), {"duplicate": 1, "top_k": 1})


def in_a_straight_line(
    references: Sequence[Reference], *, min_similarity: float, top_k: int, max_chars: int, repeats: Repeats | None
) -> Filtered:
    """The algorithm of Spec 33 step by step, with repetitions replaced before the cut."""
    ranked = sorted(references, key=lambda ref: (-ref.similarity, ref.participant_id, ref.ordinal))
    similar = [ref for ref in ranked if ref.similarity >= min_similarity]
    top: list[Reference] = []
    replaced = 0
    for ref in similar:
        if len(top) == top_k:
            break
        if repeats is not None and any(repeats(better, ref) for better in top):
            replaced += 1
        else:
            top.append(ref)
    spent = accumulate(ref.chunk_chars for ref in top)
    kept = [ref for ref, chars in zip(top, spent, strict=True) if not max_chars or chars <= max_chars]
    counts = {
        "threshold": len(ranked) - len(similar),
        "duplicate": replaced,
        "top_k": len(similar) - replaced - len(top),
        "budget": len(top) - len(kept),
    }
    return Filtered(tuple(kept), {name: count for name, count in counts.items() if count})


windows_of_a_few_transcripts = st.lists(
    st.builds(
        lambda text, participant_id, ordinal, similarity: reference(text, similarity=similarity).model_copy(
            update={"participant_id": participant_id, "ordinal": ordinal}
        ),
        st.text(max_size=6),
        st.integers(302, 304),
        st.integers(0, 9),
        st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]),
    ),
    max_size=12,
)


@given(
    windows_of_a_few_transcripts,
    st.sampled_from([0.0, 0.3, 0.6, 1.0]),
    st.integers(1, 5),
    st.integers(0, 20),
    st.sampled_from([None, by_place(size=8, step=2)]),
)
def test_the_fold_equals_the_straight_line(
    references: list[Reference], min_similarity: float, top_k: int, max_chars: int, repeats: Repeats | None
) -> None:
    settings: dict[str, Any] = {
        "min_similarity": min_similarity,
        "top_k": top_k,
        "max_chars": max_chars,
        "repeats": repeats,
    }

    assert filtered(references, **settings) == in_a_straight_line(references, **settings)
