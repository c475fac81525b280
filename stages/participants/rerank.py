"""Stage `rerank`: the order of the references, and the guards that limit them (Spec 33)."""

from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

from schemas.values.participants import RankedReferences, Reference, RetrievedReferences
from stages.participants.deduplicate import Repeats, first_distinct, nothing_repeats

SIMILARITY = "similarity"
"""The ranker that orders references by similarity alone."""


class Guarded(NamedTuple):
    """The kept references, in order, and the number that each guard dropped; guards that dropped none are absent."""

    kept: tuple[Reference, ...]
    dropped: dict[str, int]


def fit(reference: Reference) -> float:
    """The sort value of a reference, higher first: the score of the cross-encoder if there is one, else similarity."""
    return reference.similarity if reference.rerank_score is None else reference.rerank_score


def rank_references(
    retrieved: RetrievedReferences,
    *,
    min_similarity: float,
    top_k: int,
    max_chars: int,
    repeats: Repeats = nothing_repeats,
) -> RankedReferences:
    """Order and guard the references of each item separately."""
    guarded = {
        item: guard_references(
            references, min_similarity=min_similarity, top_k=top_k, max_chars=max_chars, repeats=repeats
        )
        for item, references in retrieved.items.items()
    }
    return RankedReferences(
        ranker=SIMILARITY,
        items={item: result.kept for item, result in guarded.items()},
        dropped={item: result.dropped for item, result in guarded.items() if result.dropped},
    )


def guard_references(
    references: Iterable[Reference],
    *,
    min_similarity: float,
    top_k: int,
    max_chars: int,
    repeats: Repeats = nothing_repeats,
) -> Guarded:
    """The best references that reach the threshold, are among the first `top_k` and fit into the budget.

    The threshold applies to similarity, whatever the order, and 0 drops none. Equal references are ordered by
    participant, then by position in the transcript. The budget counts characters of chunk text and ends at the first
    reference beyond it, even if a later one would fit; 0 is no budget. References without a score count towards `top_k`
    like all others. A reference that `repeats` a better one is replaced by the next.
    """
    ranked = sorted(references, key=lambda ref: (-fit(ref), ref.participant_id, ref.ordinal))
    similar = [reference for reference in ranked if reference.similarity >= min_similarity]
    top, replaced = first_distinct(similar, limit=top_k, repeats=repeats)
    spent = accumulate(reference.chunk_chars for reference in top)
    kept = [ref for ref, chars in zip(top, spent, strict=True) if not max_chars or chars <= max_chars]
    taken = {
        "threshold": len(ranked) - len(similar),
        "duplicate": replaced,
        "top_k": len(similar) - replaced - len(top),
        "budget": len(top) - len(kept),
    }
    return Guarded(tuple(kept), {guard: count for guard, count in taken.items() if count})
